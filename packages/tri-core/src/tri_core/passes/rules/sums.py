"""Reductions: sums that are dots, and reductions that see no order."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects.tt import BroadcastOp, ExpandDimsOp, ReduceOp, ReshapeOp
from tri_core.ir.rewriting import clone_mapped
from tri_core.ir.views import cast, defining_op, isa
from tri_core.mlir import arith, ir
from tri_core.passes.rewriting import constant, make
from tri_core.passes.rules.table import COMBINE

__all__: list[str] = []

_Values = Sequence[ir.Value] | None

#: rows and columns below which a dot is not worth a matrix instruction
_SMALLEST = 16
_IEEE = 2


@COMBINE.rule("tt.reduce", fed_by=["arith.mulf"])
def _sum_of_products(op: ir.Operation) -> _Values:
    """The sum over k of ``x[m, k, 1] * y[1, k, n]`` in f32 is the product of x and y."""
    product = defining_op(cast(op, ReduceOp).srcs[0], arith.MulFOp)
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    if product is None or len(op.operands) != 1 or axis != 1 or not _is_f32_sum(op):
        return None
    sides = (_spread(product.lhs), _spread(product.rhs))
    for (left, left_axis), (right, right_axis) in (sides, sides[::-1]):
        if left is None or right is None or (left_axis, right_axis) != (2, 0):
            continue
        m, k = ir.RankedTensorType(left.type).shape
        n = ir.RankedTensorType(right.type).shape[1]
        if min(m, k, n) < _SMALLEST:
            return None
        return [_dot(op, left, right)]
    return None


@COMBINE.rule("tt.reduce", "tt.histogram", fed_by=["tt.reshape"])
def _in_any_order(op: ir.Operation) -> _Values:
    """A reduction to a scalar, or a histogram, of a reshaped tensor sees no order.

    The reshape is copied: others may use it as it is.
    """
    source, *others = op.operands
    reshape = defining_op(source, ReshapeOp)
    if reshape is None or "allow_reorder" in reshape.attributes or others:
        return None
    if isa(op, ReduceOp) and not _sees_no_order(op):
        return None
    attributes = {name: reshape.attributes[name] for name in reshape.attributes}
    attributes["allow_reorder"] = ir.UnitAttr.get()
    free = make(op, "tt.reshape", source.type, list(reshape.operands), attributes)
    return list(clone_mapped(op, {source: free}, ir.InsertionPoint(op)).results)


def _sees_no_order(op: ir.Operation) -> bool:
    """True if ``op`` gives a scalar and combines by one commutative op.

    The order in which a reduction combines is nowhere promised, for sums of floats neither.
    """
    inner = _combination(op)
    return not isinstance(op.result.type, ir.RankedTensorType) and inner in _COMMUTATIVE


_COMMUTATIVE = frozenset(
    f"arith.{name}"
    for name in [
        "addf",
        "addi",
        "andi",
        "maximumf",
        "maxnumf",
        "maxsi",
        "maxui",
        "minimumf",
        "minnumf",
        "minsi",
        "minui",
        "mulf",
        "muli",
        "ori",
        "xori",
    ]
)


def _is_f32_sum(op: ir.Operation) -> bool:
    element = ir.RankedTensorType(cast(op, ReduceOp).srcs[0].type).element_type
    return isinstance(element, ir.F32Type) and _combination(op) == "arith.addf"


def _combination(op: ir.Operation) -> str | None:
    """The name of the one op of two arguments that a reduction of one tensor combines by."""
    block = op.regions[0].blocks[0]
    inner = [view.operation for view in block.operations]
    if len(inner) != 2 or len(block.arguments) != 2:
        return None
    same = set(inner[0].operands) == set(block.arguments) and list(inner[1].operands) == list(
        inner[0].results
    )
    return str(inner[0].name) if same else None


def _spread(value: ir.Value) -> tuple[ir.Value | None, int]:
    """The matrix that ``value`` repeats along a new axis, and the axis."""
    broadcast = defining_op(value, BroadcastOp)
    expand = defining_op(broadcast.src, ExpandDimsOp) if broadcast is not None else None
    if expand is None or ir.RankedTensorType(value.type).rank != 3:
        return None, -1
    return expand.src, ir.IntegerAttr(expand.attributes["axis"]).value


def _dot(op: ir.Operation, left: ir.Value, right: ir.Value) -> ir.Value:
    """The dot, at full precision: nobody asked for less."""
    type_ = ir.RankedTensorType(op.result.type)
    zero = constant(op, ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(type_.element_type, 0.0)))
    i32 = ir.IntegerType.get_signless(32)
    return make(op, "tt.dot", type_, [left, right, zero], {"inputPrecision": ir.IntegerAttr.get(i32, _IEEE)})
