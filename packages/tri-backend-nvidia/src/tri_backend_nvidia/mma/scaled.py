"""Block-scaled dots for ``mma.sync``: operands and scales go to the registers that the instruction reads.

c = dot_scaled(a, sa, b, sb, c0)    ->    the same of dot_op a, dot_scale sa, dot_op b, dot_scale sb, nvidia_mma c0

Scales that have four neighbours in memory are loaded by fours, also where there are threads for each alone: that is what the
instruction has in a register, and the least that an asynchronous copy moves.
"""

from __future__ import annotations

from tri_backend_nvidia.mma.encoding import NvidiaMma
from tri_backend_nvidia.mma.mma_scales import WORD
from tri_backend_nvidia.mma.scaled_table import TILE
from tri_core.dialects.tt import BitcastOp, LoadOp
from tri_core.ir.rewriting import attributes_of
from tri_core.ir.traits import source_of
from tri_core.ir.views import cast, defining_op, isa
from tri_core.mlir import ir
from tri_gpu_dialect.analysis import AxisInfos
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.edit import convert
from tri_gpu_dialect.encodings import Blocked, DotOperand, DotScale
from tri_gpu_dialect.policies.matrix import split_warps
from tri_gpu_dialect.transforms.layout.coalesce import lay_out
from tri_gpu_dialect.types import shape_of, tensor_info

__all__ = ["as_loaded", "bare", "warp_dot"]

#: neighbouring bytes along k in a word of a fragment
_K_WIDTH = 4
_LANES = 32
#: what stands between a load and a dot
_CHANGES_LAYOUT = (ConvertLayoutOp, BitcastOp)


def warp_dot(op: ir.Operation, warps: int, axes: AxisInfos) -> None:
    """``op``, which :class:`WarpScaledDots` does not refuse, gets the instruction's layouts; ``axes`` of its function."""
    for scale in list(op.operands)[3:]:
        _load_words(scale, axes, warps)
    a, b, c, *scales = op.operands
    old = encoding_of(op.results[0])
    assert old is not None
    split = split_warps(shape_of(op.results[0].type), TILE, warps, whole_rows=False)
    encoding = NvidiaMma(warps_per_cta=split, instr_shape=TILE)
    here, location = ir.InsertionPoint(op), op.location
    with here, location:
        factors = [
            convert(as_loaded(v), DotOperand(i, encoding, _K_WIDTH), here, location)
            for i, v in enumerate((a, b))
        ]
        # of these the type says what the bytes mean
        held = [convert(bare(v), DotScale(i, encoding), here, location) for i, v in enumerate(scales)]
        total = convert(bare(c), encoding, here, location)
        made = ir.Operation.create(
            op.name,
            results=[total.type],
            operands=[*factors, total, *held],
            attributes=attributes_of(op),
        )
        back = convert(made.results[0], old, here, location)
    op.results[0].replace_all_uses_with(back)
    op.erase()
    for value in (a, b):
        _drop(value)


def _drop(value: ir.Value) -> None:
    """Erase what transposed the bytes of ``value`` into numbers, if nobody else reads them: a load that is read so is no mere copy."""
    while (op := defining_op(value)) is not None and isa(op, *_CHANGES_LAYOUT):
        if next(iter(value.uses), None) is not None:
            return
        value = source_of(op)
        op.erase()


def _load_words(value: ir.Value, axes: AxisInfos, warps: int) -> None:
    """Have the load that scales come from access four of a row at once, if they are neighbours."""
    source, info = as_loaded(value), tensor_info(value.type)
    if info is None or isinstance(source.owner, ir.Block) or not isa(source.owner.operation, LoadOp):
        return
    load = source.owner.operation
    present = encoding_of(load.results[0])
    if not isinstance(present, Blocked) or present.order[0] != 1 or present.size_per_thread[1] >= WORD:
        return
    if axes.contiguous(cast(load, LoadOp).ptr, 1) >= WORD:
        lay_out(load, Blocked.make(info.shape, (1, WORD), (1, 0), warps, _LANES))


def bare(value: ir.Value, *through: type[ir.OpView]) -> ir.Value:
    """``value`` without conversions of its layout, and what ops ``through``, which take one value, make of it."""
    while (op := defining_op(value)) is not None and isa(op, ConvertLayoutOp, *through):
        value = source_of(op)
    return value


def as_loaded(value: ir.Value) -> ir.Value:
    """``value`` as it was loaded: what its bits mean is the instruction's matter, not that of who holds it."""
    return bare(value, BitcastOp)
