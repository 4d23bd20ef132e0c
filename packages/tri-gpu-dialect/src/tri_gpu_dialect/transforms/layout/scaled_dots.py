"""Scaled dots whose operands and scales are read from registers: what is the same for every unit that does so.

c = dot_scaled(a, sa, b, sb, c0)    ->    the same of dot_op a, dot_scale sa, dot_op b, dot_scale sb, the unit's c0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tri_core.dialects.tt import BitcastOp, LoadOp
from tri_core.ir.rewriting import attributes_of
from tri_core.ir.traits import source_of
from tri_core.ir.views import defining_op, isa
from tri_core.mlir import ir
from tri_gpu_dialect.analysis import AxisInfos
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.edit import convert
from tri_gpu_dialect.encodings import Blocked, DotOperand, DotScale
from tri_gpu_dialect.transforms.layout.coalesce import lay_out
from tri_gpu_dialect.types import tensor_info

__all__ = ["give_layouts", "load_words"]


def give_layouts(
    op: ir.Operation,
    encoding: Any,
    width: int,
    values: Sequence[ir.Value],
    scales: Sequence[ir.Value],
    total: ir.Value,
) -> None:
    """Replace ``op``, a ``tt.dot_scaled``, by the same of ``values``, ``scales`` and ``total`` in the layouts of ``encoding``'s instruction.

    ``width``: neighbours along k of an operand in a thread.  What made numbers of the bytes of ``op``'s own operands is erased.
    """
    old = encoding_of(op.results[0])
    assert old is not None
    before, here, location = list(op.operands)[:2], ir.InsertionPoint(op), op.location
    with here, location:
        factors = [convert(v, DotOperand(i, encoding, width), here, location) for i, v in enumerate(values)]
        held = [convert(v, DotScale(i, encoding), here, location) for i, v in enumerate(scales)]
        start = convert(total, encoding, here, location)
        made = ir.Operation.create(
            op.name,
            results=[start.type],
            operands=[*factors, start, *held],
            attributes=attributes_of(op),
        )
        back = convert(made.results[0], old, here, location)
    op.results[0].replace_all_uses_with(back)
    op.erase()
    for value in before:
        _drop(value)


def _drop(value: ir.Value) -> None:
    """Erase what made numbers of the bytes of ``value``, if nobody else reads them: a load that is read so is no mere copy."""
    while (op := defining_op(value)) is not None and isa(op, ConvertLayoutOp, BitcastOp):
        if next(iter(value.uses), None) is not None:
            return
        value = source_of(op)
        op.erase()


def load_words(scale: ir.Value, axes: AxisInfos, warps: int, lanes: int, word: int) -> None:
    """Have the load that makes ``scale``, if one does, access ``word`` neighbours of a row at once, where they are neighbours in memory."""
    load = defining_op(scale, LoadOp)
    if load is None:
        return
    info, own = tensor_info(load.result.type), encoding_of(load.result)
    if info is None or not isinstance(own, Blocked) or own.order[0] != 1 or own.size_per_thread[1] >= word:
        return
    if axes.contiguous(load.ptr, 1) >= word:
        lay_out(load.operation, Blocked.make(info.shape, (1, word), (1, 0), warps, lanes))
