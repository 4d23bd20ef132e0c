"""Instructions of AVX-512 that LLVM selects for nothing else than their own intrinsics.

Both work on 16 x f32: the width of nearly every loop.
"""

from __future__ import annotations

from tri_backend_cpu.lower.builder import F32, I16, I32, Builder, width_of
from tri_core.mlir import ir

__all__ = ["LANES", "applies", "extreme", "scale"]

#: lanes of the vectors that this module is about
LANES = 16

_ALL_LANES = -1
_CURRENT_ROUNDING = 4
#: VRANGEPS: the sign is that of the result; 0 is the smaller, 1 the larger
_RANGE = {"arith.minnumf": 0b0100, "arith.maxnumf": 0b0101}


def applies(b: Builder, value: ir.Value) -> bool:
    """Whether ``value`` is a vector of 16 f32 on a target with AVX-512."""
    return b.avx512 and width_of(value) == LANES and value.type == b.type(F32, LANES)


def scale(b: Builder, x: ir.Value, exponent: ir.Value) -> ir.Value:
    """``x * 2**floor(exponent)``, correctly also where that over- or underflows (VSCALEFPS)."""
    name = "llvm.x86.avx512.mask.scalef.ps.512"
    return b.intrinsic(name, x.type, x, exponent, x, b.constant(_ALL_LANES, I16), b.i32(_CURRENT_ROUNDING))


def extreme(b: Builder, name: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """``arith.maxnumf`` or ``minnumf``: the number where one of the two is NaN (VRANGEPS).

    Made of other instructions it takes three.
    """
    intrinsic, all_lanes = "llvm.x86.avx512.mask.range.ps.512", b.constant(_ALL_LANES, I16)
    control = b.constant(_RANGE[name], I32)
    return b.intrinsic(intrinsic, x.type, x, y, control, x, all_lanes, b.i32(_CURRENT_ROUNDING))
