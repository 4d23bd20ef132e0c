"""Ops that only move values: splats, broadcasts, reshapes, transpositions and what they make of each other."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects.tt import BroadcastOp, JoinOp, ReshapeOp, SplatOp, SplitOp, TransOp
from tri_core.ir.traits import source_of
from tri_core.ir.views import cast, defining_op
from tri_core.mlir import ir
from tri_core.passes.rewriting import constant, make
from tri_core.passes.rules.table import COMBINE, REORDER, TABLE
from tri_core.passes.rules.uniform import is_uniform, uniform_attr, uniform_tensor, with_shape

__all__: list[str] = []

_Values = Sequence[ir.Value] | None


@TABLE.rule("tt.splat")
@REORDER.rule("tt.splat")
def _splat_of_constant(op: ir.Operation) -> _Values:
    attribute = uniform_attr(source_of(op))
    if attribute is None:
        return None
    return [constant(op, ir.DenseElementsAttr.get_splat(op.result.type, attribute))]


@TABLE.rule("tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans")
@REORDER.rule("tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans")
def _of_uniform(op: ir.Operation) -> _Values:
    source = source_of(op)
    return [uniform_tensor(source, op.result.type, op)] if is_uniform(source) else None


@TABLE.rule("tt.broadcast", "tt.bitcast")
def _to_its_own_type(op: ir.Operation) -> _Values:
    return [source_of(op)] if source_of(op).type == op.result.type else None


@COMBINE.rule("tt.broadcast")
def _broadcast_of_constant(op: ir.Operation) -> _Values:
    source = source_of(op)
    return [uniform_tensor(source, op.result.type, op)] if uniform_attr(source) is not None else None


@TABLE.rule("tt.reshape")
def _reshape_to_its_own_type(op: ir.Operation) -> _Values:
    # an order that may be changed need not be; a layout that is wanted is another matter
    kept = source_of(op).type == op.result.type and "efficient_layout" not in op.attributes
    return [source_of(op)] if kept else None


@TABLE.rule("tt.broadcast")
@REORDER.rule("tt.broadcast")
def _broadcast_of_broadcast(op: ir.Operation) -> _Values:
    inner = defining_op(source_of(op), BroadcastOp)
    return None if inner is None else [make(op, "tt.broadcast", op.result.type, [inner.src])]


@TABLE.rule("tt.expand_dims")
@REORDER.rule("tt.expand_dims")
def _expand_dims_of_broadcast(op: ir.Operation) -> _Values:
    """Broadcasts come last: what is between works on fewer elements."""
    inner = defining_op(source_of(op), BroadcastOp)
    if inner is None:
        return None
    axis = op.attributes["axis"]
    shape = list(ir.RankedTensorType(inner.src.type).shape)
    shape.insert(ir.IntegerAttr(axis).value, 1)
    small = with_shape(op.result.type, shape)
    expanded = make(op, "tt.expand_dims", small, [inner.src], {"axis": axis})
    return [make(op, "tt.broadcast", op.result.type, [expanded])]


@TABLE.rule("tt.reshape")
def _reshape_of_reshape(op: ir.Operation) -> _Values:
    inner = defining_op(source_of(op), ReshapeOp)
    if inner is None or "efficient_layout" in inner.attributes:
        return None
    attributes = {**_attributes(inner.operation), **_attributes(op)}  # any order, if either allows it
    return [make(op, "tt.reshape", op.result.type, [inner.src], attributes)]


@TABLE.rule("tt.trans")
def _trans_of_trans(op: ir.Operation) -> _Values:
    order = _order(op)
    source = source_of(op)
    if order == sorted(order):
        return [source]
    inner = defining_op(source, TransOp)
    if inner is None:
        return None
    within = _order(inner.operation)
    composed = ir.DenseI32ArrayAttr.get([within[i] for i in order])
    return [make(op, "tt.trans", op.result.type, [inner.src], {"order": composed})]


@TABLE.rule("tt.unsplat")
def _unsplat_of_uniform(op: ir.Operation) -> _Values:
    attribute = uniform_attr(source_of(op))
    if attribute is not None:
        return [constant(op, attribute)]
    inner = defining_op(source_of(op), SplatOp)
    return None if inner is None else [inner.src]


@TABLE.rule("tt.split")
def _split_of_join(op: ir.Operation) -> _Values:
    inner = defining_op(cast(op, SplitOp).src, JoinOp)
    return None if inner is None else [inner.lhs, inner.rhs]


@TABLE.rule("tt.join")
def _join_of_split(op: ir.Operation) -> _Values:
    left, right = op.operands
    inner = defining_op(left, SplitOp)
    if inner is None or inner.out_lhs != left or inner.out_rhs != right:
        return None
    return [inner.src]


@TABLE.rule("tt.make_range")
def _range_of_one(op: ir.Operation) -> _Values:
    start, end = (ir.IntegerAttr(op.attributes[key]) for key in ("start", "end"))
    if end.value - start.value != 1:
        return None
    return [constant(op, ir.DenseElementsAttr.get_splat(op.result.type, start))]


def _order(op: ir.Operation) -> list[int]:
    return list(ir.DenseI32ArrayAttr(op.attributes["order"]))


def _attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    return {name: op.attributes[name] for name in op.attributes}
