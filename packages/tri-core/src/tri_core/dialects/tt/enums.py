"""Enumerations of the ``tt`` dialect, with Triton's values (``TritonAttrDefs.td``)."""

from __future__ import annotations

from enum import IntEnum

__all__ = [
    "AtomicOp",
    "CacheModifier",
    "DescriptorReduceKind",
    "EvictionPolicy",
    "InputPrecision",
    "MemSemantic",
    "MemSyncScope",
    "PaddingOption",
    "PropagateNan",
    "RoundingMode",
    "ScaleDotElemType",
]


class CacheModifier(IntEnum):
    """Cache policy of an access."""

    NONE = 1
    CA = 2
    CG = 3
    WB = 4
    CS = 5
    WT = 6
    CV = 7


class EvictionPolicy(IntEnum):
    """Eviction priority of cache lines."""

    NORMAL = 1
    EVICT_FIRST = 2
    EVICT_LAST = 3


class PaddingOption(IntEnum):
    """Value of out-of-bounds reads."""

    PAD_ZERO = 1
    PAD_NAN = 2


class AtomicOp(IntEnum):
    """Read-modify-write operations."""

    AND = 1
    OR = 2
    XOR = 3
    ADD = 4
    FADD = 5
    MAX = 6
    MIN = 7
    UMAX = 8
    UMIN = 9
    XCHG = 10


class DescriptorReduceKind(IntEnum):
    """Reductions into memory through a tensor descriptor."""

    ADD = 1
    MIN = 2
    MAX = 3
    INC = 4
    DEC = 5
    AND = 6
    OR = 7
    XOR = 8


class MemSemantic(IntEnum):
    """Memory order."""

    RELAXED = 1
    ACQUIRE = 2
    RELEASE = 3
    ACQUIRE_RELEASE = 4


class MemSyncScope(IntEnum):
    """Scope in which a memory order holds."""

    GPU = 1
    CTA = 2
    SYSTEM = 3


class PropagateNan(IntEnum):
    """Propagation of NaN by min, max and clamp."""

    NONE = 0
    ALL = 0xFFFF


class RoundingMode(IntEnum):
    """Rounding of a float downcast."""

    RTZ = 0
    RTNE = 1


class InputPrecision(IntEnum):
    """Precision in which a dot reads f32 operands."""

    TF32 = 0
    TF32X3 = 1
    IEEE = 2
    BF16X3 = 3
    BF16X6 = 4


class ScaleDotElemType(IntEnum):
    """Element formats of a scaled dot."""

    E4M3 = 0
    E5M2 = 1
    E2M3 = 2
    E3M2 = 3
    E2M1 = 4
    BF16 = 5
    FP16 = 6
