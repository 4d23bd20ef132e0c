"""The rows of ``tcgen05.mma`` for the optimizer."""

from __future__ import annotations

from tri_backend_nvidia.mma.memory import SwizzledRows
from tri_backend_nvidia.tcgen05.encoding import BLOCK_M, GROUP_WARPS, NARROWEST, WIDEST, TensorMemoryRows
from tri_core.api import Target
from tri_core.dialects.tt.enums import InputPrecision
from tri_gpu_dialect.policies.async_dots import AsyncInstruction
from tri_gpu_dialect.policies.matrix import MatrixInstruction

__all__ = ["instructions"]

#: (MLIR types of a, b and the accumulator) -> bits of an element.  PTX ISA 9.0, table "Various combinations of .kind and shapes"
_ROWS: tuple[tuple[str, str, str, int], ...] = (
    ("f16", "f16", "f32", 16),
    ("bf16", "bf16", "f32", 16),
    ("f32", "f32", "f32", 32),
    ("i8", "i8", "i32", 8),
    ("f8E4M3FN", "f8E4M3FN", "f32", 8),
    ("f8E4M3FN", "f8E5M2", "f32", 8),
    ("f8E5M2", "f8E4M3FN", "f32", 8),
    ("f8E5M2", "f8E5M2", "f32", 8),
)
#: bits along k of one instruction
_K_BITS = 256
#: what has ``kind::i8``, as ptxas says
_INTEGERS = frozenset({"sm_100a", "sm_110a"})


def instructions(target: Target) -> tuple[MatrixInstruction, ...]:
    """Matrix instructions of ``target``; none without tensor memory."""
    if not target.has("tcgen05"):
        return ()
    return tuple(_row(*row) for row in _ROWS if row[0] != "i8" or target.key.arch in _INTEGERS)


def _row(a: str, b: str, total: str, bits: int) -> AsyncInstruction:
    return AsyncInstruction(
        a=a,
        b=b,
        accumulator=total,
        shape=(BLOCK_M, NARROWEST, _K_BITS // bits),
        k_width=1,
        encoding=TensorMemoryRows(),
        precisions=(int(InputPrecision.TF32),) if bits == 32 else (),
        # rows of 32-bit elements across take swizzles of 32-byte pieces, which no buffer here has
        memory=SwizzledRows(bits, across=bits != 32),
        group_warps=GROUP_WARPS,
        group_columns=(NARROWEST, WIDEST),
    )
