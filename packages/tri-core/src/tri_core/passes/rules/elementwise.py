"""Arithmetic on splats is scalar, and on broadcasts it is done before broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects.tt import TT, BroadcastOp
from tri_core.ir.traits import elementwise_ops
from tri_core.ir.views import defining_op
from tri_core.mlir import ir
from tri_core.passes.rewriting import make
from tri_core.passes.rules.table import REORDER
from tri_core.passes.rules.uniform import is_uniform, scalar, uniform_tensor

__all__ = ["ELEMENTWISE"]

_Values = Sequence[ir.Value] | None

#: pure ops whose result at a place depends on the operands at that place
ELEMENTWISE = elementwise_ops(TT)


@REORDER.rule(*ELEMENTWISE, fed_by=["tt.splat"])
def _of_splats(op: ir.Operation) -> _Values:
    if not all(is_uniform(value) for value in op.operands):
        return None
    element = ir.RankedTensorType(op.result.type).element_type
    value = make(op, op.name, element, [scalar(v, op) for v in op.operands], _attributes(op))
    return [make(op, "tt.splat", op.result.type, [value])]


@REORDER.rule(*ELEMENTWISE, fed_by=["tt.broadcast"])
def _of_broadcasts(op: ir.Operation) -> _Values:
    """All operands are broadcast from one shape, or uniform."""
    shapes = set()
    for value in op.operands:
        broadcast = defining_op(value, BroadcastOp)
        if broadcast is not None:
            shapes.add(tuple(broadcast.src.type.shape))
        elif not is_uniform(value):
            return None
    if len(shapes) != 1:
        return None
    (shape,) = shapes
    operands = [_before_broadcast(value, shape, op) for value in op.operands]
    small = ir.RankedTensorType.get(list(shape), ir.RankedTensorType(op.result.type).element_type)
    value = make(op, op.name, small, operands, _attributes(op))
    return [make(op, "tt.broadcast", op.result.type, [value])]


def _before_broadcast(value: ir.Value, shape: Sequence[int], at: ir.Operation) -> ir.Value:
    broadcast = defining_op(value, BroadcastOp)
    if broadcast is not None:
        return broadcast.src
    type_ = ir.RankedTensorType.get(list(shape), ir.RankedTensorType(value.type).element_type)
    return uniform_tensor(value, type_, at)


def _attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    return {name: op.attributes[name] for name in op.attributes}
