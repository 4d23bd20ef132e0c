"""Block-scaled dots for ``mma.sync``: operands and scales go to the registers that the instruction reads.

c = dot_scaled(a, sa, b, sb, c0)    ->    the same of dot_op a, dot_scale sa, dot_op b, dot_scale sb, nvidia_mma c0

Scales that have four neighbours in memory are loaded by fours, also where there are threads for each alone: that is what the
instruction has in a register, and the least that an asynchronous copy moves.
"""

from __future__ import annotations

from tri_backend_nvidia.mma.encoding import NvidiaMma
from tri_backend_nvidia.mma.mma_scales import WORD
from tri_backend_nvidia.mma.scaled_table import TILE
from tri_core.dialects.tt import BitcastOp
from tri_core.ir.traits import source_of
from tri_core.ir.views import defining_op, isa
from tri_core.mlir import ir
from tri_gpu_dialect.analysis import AxisInfos
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.policies.matrix import split_warps
from tri_gpu_dialect.transforms.layout.scaled_dots import give_layouts, load_words
from tri_gpu_dialect.types import shape_of

__all__ = ["as_loaded", "bare", "warp_dot"]

#: neighbouring bytes along k in a word of a fragment
_K_WIDTH = 4
_LANES = 32


def warp_dot(op: ir.Operation, warps: int, axes: AxisInfos) -> None:
    """``op``, which :class:`WarpScaledDots` does not refuse, gets the instruction's layouts; ``axes`` of its function."""
    a, b, c, *scales = op.operands
    for scale in scales:
        load_words(as_loaded(scale), axes, warps, _LANES, WORD)
    split = split_warps(shape_of(op.results[0].type), TILE, warps, whole_rows=False)
    encoding = NvidiaMma(warps_per_cta=split, instr_shape=TILE)
    # of scales the type says what the bytes mean
    give_layouts(op, encoding, _K_WIDTH, [as_loaded(a), as_loaded(b)], [bare(v) for v in scales], bare(c))


def bare(value: ir.Value, *through: type[ir.OpView]) -> ir.Value:
    """``value`` without conversions of its layout, and what ops ``through``, which take one value, make of it."""
    while (op := defining_op(value)) is not None and isa(op, ConvertLayoutOp, *through):
        value = source_of(op)
    return value


def as_loaded(value: ir.Value) -> ir.Value:
    """``value`` as it was loaded: what its bits mean is the instruction's matter, not that of who holds it."""
    return bare(value, BitcastOp)
