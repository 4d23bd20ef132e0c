"""Ops that run within one block of a cluster get what they need there.

The blocks of a cluster each have a part of a tensor.  A scan goes along its axis, a gather takes elements from anywhere, and a
histogram counts them all; each is lowered for threads of one block.  So their operands are converted to a layout in which every
block has all that its results need, the result has the same blocks, and is converted back.

    tt.scan along d          no block splits d; other dimensions stay split
    tt.gather, tt.histogram  every block has all of the source
    ttg.local_alloc          what fills a buffer is split as the buffer is, so over no block if that is whole in each
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import GatherOp, HistogramOp, ScanOp
from tri_core.ir.traits import source_of
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.dialect import LocalAllocOp
from tri_gpu_dialect.edit import all_ops, convert, functions, module_int, retyped
from tri_gpu_dialect.encodings import Blocked, SharedEncoding, decode
from tri_gpu_dialect.layouts import BLOCK
from tri_gpu_dialect.layouts.cluster import ClusterBases, units
from tri_gpu_dialect.types import tensor_info

__all__ = ["GatherAcrossCluster"]


@dataclass(frozen=True)
class GatherAcrossCluster(Pass):
    """See the module."""

    name: ClassVar[str] = "gather-across-cluster"
    former_names: ClassVar[tuple[str, ...]] = ("gather-blocks",)

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the ops of every function of a ``module`` of clusters."""
        if module_int(module, "ttg.num-ctas") == 1:
            return
        for function in functions(module):
            for op in all_ops(function):
                if isa(op, ScanOp):
                    _scan(op)
                elif isa(op, LocalAllocOp) and (value := cast(op, LocalAllocOp).src) is not None:
                    _fill(op, value)
                for number in _needed(op):
                    op.operands[number] = _everywhere(op, op.operands[number])


def _needed(op: ir.Operation) -> Sequence[int]:
    """The operands of which every block needs all."""
    if isa(op, HistogramOp):  # the mask goes with the values
        return range(len(op.operands))
    return (0,) if isa(op, GatherOp) else ()


def _fill(op: ir.Operation, value: ir.Value) -> None:
    """``value``, the tensor that a buffer is filled with, split over the blocks as the buffer is."""
    encoding = decode(op.results[0].type.encoding)
    layout = layouts.of(value.type)
    if not isinstance(encoding, SharedEncoding) or not layout.has_in(BLOCK):
        return
    have = layout.bases[BLOCK]
    begins = encoding.part(tuple(value.type.shape))[1] or ((0,) * len(layout.out_dims),) * len(have)
    if have != begins:
        made = _blocked(value, units(begins))
        cast(op, LocalAllocOp).src = convert(value, made, ir.InsertionPoint(op), op.location)


def _everywhere(op: ir.Operation, value: ir.Value) -> ir.Value:
    """``value`` before ``op``, laid out so that every block of a cluster has all of it."""
    if not _split(value):
        return value
    return convert(value, _within(value, range(value.type.rank)), ir.InsertionPoint(op), op.location)


def _split(value: ir.Value) -> set[int]:
    """The dimensions that blocks split."""
    if not isinstance(value.type, ir.RankedTensorType):
        return set()
    layout = layouts.of(value.type)
    if not layout.has_in(BLOCK):
        return set()
    return {d for basis in layout.bases[BLOCK] for d, step in enumerate(basis) if step}


def _within(value: ir.Value, whole: Collection[int]) -> Blocked:
    """A layout of the type of ``value`` in which blocks do not split the dimensions ``whole``."""
    info = tensor_info(value.type)
    assert info is not None
    left = tuple(1 if d in whole else n for d, n in enumerate(info.shape))
    return _blocked(value, Blocked.default(left, 1, 1, layouts.of(value.type).in_size(BLOCK)).cga_layout)


def _blocked(value: ir.Value, blocks: ClusterBases) -> Blocked:
    """A layout of the type of ``value`` that ``blocks`` split."""
    info, layout = tensor_info(value.type), layouts.of(value.type)
    assert info is not None
    order = tuple(reversed(range(info.rank)))
    lanes, warps = (layout.in_size(dim) for dim in (layouts.LANE, layouts.WARP))
    return Blocked.make(info.shape, (1,) * info.rank, order, warps, lanes, blocks=blocks)


def _scan(op: ir.Operation) -> None:
    """The operands of a scan, and its results, with all of the axis in one block."""
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    if axis not in _split(source_of(op)):
        return
    encoding = _within(source_of(op), {axis})
    for i, operand in enumerate(op.operands):
        op.operands[i] = convert(operand, encoding, ir.InsertionPoint(op), op.location)
    for result in op.results:
        old = tensor_info(result.type)
        assert old is not None
        assert old.encoding is not None
        users = [(use.owner.operation, use.operand_number) for use in result.uses]
        result.set_type(retyped(result.type, encoding))
        back = convert(result, old.encoding, ir.InsertionPoint.after(op), op.location)
        for user, operand_number in users:
            user.operands[operand_number] = back
