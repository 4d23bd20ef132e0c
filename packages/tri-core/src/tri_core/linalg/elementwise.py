"""Numbers element by element: ``arith`` and ``math`` on tensors, as they are."""

from __future__ import annotations

from collections.abc import Callable

from tri_core.dialects import tt
from tri_core.ir.traits import source_of
from tri_core.ir.upstream import ELEMENTWISE_OPS, AssumeOp
from tri_core.ir.views import cast
from tri_core.linalg import build
from tri_core.linalg.boxes import Box, box_of_comparison
from tri_core.linalg.state import RULES, Lowering, is_pointer, refuse, shape_of
from tri_core.linalg.strides import Strided
from tri_core.mlir import arith, ir, math, ub

__all__: list[str] = []

#: attributes that TTIR's passes leave for each other
_OURS = "tt."


def copy(lowering: Lowering, op: ir.Operation) -> None:
    """The op on the counterparts of its operands."""
    if any(is_pointer(value) for value in (*op.operands, *op.results)):
        refuse(op, f"{op.name} of pointers", "choose between offsets, and add the chosen one to a pointer")
    made = ir.Operation.create(
        op.name,
        results=[result.type for result in op.results],
        operands=[lowering.values[value] for value in op.operands],
        attributes={name: op.attributes[name] for name in op.attributes if not name.startswith(_OURS)},
    )
    lowering.values.update(zip(op.results, made.results, strict=True))


class _Named:
    """An op of MLIR's, for the table of rules."""

    def __init__(self, name: str) -> None:
        self.OPERATION_NAME = name


_SPECIAL = (
    arith.AddIOp,
    arith.SubIOp,
    arith.MulIOp,
    arith.ExtSIOp,
    arith.AndIOp,
    arith.CmpIOp,
)
_OWN = {kind.OPERATION_NAME for kind in _SPECIAL}
for _name in ELEMENTWISE_OPS:
    if _name not in _OWN:
        RULES.on(_Named(_name))(copy)  # type: ignore[arg-type]
RULES.on(ub.PoisonOp)(copy)


@RULES.on(AssumeOp, tt.BarrierOp)
def _nothing(lowering: Lowering, op: ir.Operation) -> None:
    """A program of the module is one thread, and what is assumed is true."""


# --- what places say --------------------------------------------------------------------------------------


@RULES.on(arith.ConstantOp)
def _constant(lowering: Lowering, op: ir.Operation) -> None:
    copy(lowering, op)
    (result,) = op.results
    value = op.attributes["value"]
    if not isinstance(value, ir.DenseElementsAttr) or not value.is_splat:
        return
    number = value.get_splat_value()
    if not isinstance(number, ir.IntegerAttr) or not shape_of(result):
        return
    if number.type.width > 1:
        lowering.strided[result] = Strided(number.value).splat(shape_of(result))
    elif number.value:
        lowering.boxes[result] = Box.full(shape_of(result))


def _arithmetic(
    combine: Callable[[Strided, Strided], Strided | None],
) -> Callable[[Lowering, ir.Operation], None]:
    def rule(lowering: Lowering, op: ir.Operation) -> None:
        copy(lowering, op)
        (result,), operands = op.results, [lowering.strided.get(value) for value in op.operands]
        left, right = operands
        if left is not None and right is not None and (found := combine(left, right)) is not None:
            lowering.strided[result] = found

    return rule


RULES.on(arith.AddIOp)(_arithmetic(Strided.plus))
RULES.on(arith.SubIOp)(_arithmetic(Strided.minus))
RULES.on(arith.MulIOp)(_arithmetic(Strided.times))


@RULES.on(arith.ExtSIOp)
def _widen(lowering: Lowering, op: ir.Operation) -> None:
    copy(lowering, op)
    source = lowering.strided.get(source_of(op))
    if source is not None:
        lowering.strided[op.results[0]] = source


@RULES.on(arith.CmpIOp)
def _compare(lowering: Lowering, op: ir.Operation) -> None:
    copy(lowering, op)
    left, right = (lowering.strided.get(value) for value in op.operands)
    if left is None or right is None:
        return
    predicate = arith.CmpIPredicate(ir.IntegerAttr(op.attributes["predicate"]).value)
    box = box_of_comparison(predicate, left, right)
    if box is not None:
        lowering.boxes[op.results[0]] = box


@RULES.on(arith.AndIOp)
def _and(lowering: Lowering, op: ir.Operation) -> None:
    copy(lowering, op)
    left, right = (lowering.boxes.get(value) for value in op.operands)
    if left is not None and right is not None:
        lowering.boxes[op.results[0]] = left.both(right)


# --- ops of tt --------------------------------------------------------------------------------------------


def _as(kind: type[ir.OpView]) -> Callable[[Lowering, ir.Operation], None]:
    def rule(lowering: Lowering, op: ir.Operation) -> None:
        (result,) = op.results
        lowering.values[result] = kind(*(lowering.values[value] for value in op.operands)).result

    return rule


RULES.on(tt.PreciseSqrtOp)(_as(math.SqrtOp))
RULES.on(tt.PreciseDivfOp, tt.ApproxDivfOp)(_as(arith.DivFOp))


@RULES.on(tt.MulhiUIOp)
def _high_product(lowering: Lowering, op: ir.Operation) -> None:
    view = cast(op, tt.MulhiUIOp)
    made = arith.MulUIExtendedOp(lowering.values[view.x], lowering.values[view.y])
    lowering.values[op.results[0]] = made.results[1]


@RULES.on(tt.ClampfOp)
def _clamp(lowering: Lowering, op: ir.Operation) -> None:
    """``propagateNan`` is 0 or all bits."""
    view = cast(op, tt.ClampfOp)
    x, low, high = (lowering.values[value] for value in (view.x, view.min, view.max))
    if ir.IntegerAttr(view.propagateNan).value:
        found = arith.MinimumFOp(arith.MaximumFOp(x, low).result, high).result
    else:
        found = arith.MinNumFOp(arith.MaxNumFOp(x, low).result, high).result
    lowering.values[op.results[0]] = found


@RULES.on(tt.BitcastOp)
def _bitcast(lowering: Lowering, op: ir.Operation) -> None:
    (result,) = op.results
    if is_pointer(source_of(op)) or is_pointer(result):
        refuse(
            op, "pointers of another element type", "pass an array of the element type that the kernel reads"
        )
    lowering.values[result] = arith.BitcastOp(result.type, lowering.values[source_of(op)]).result


#: roundings of ``tt.fp_to_fp`` as ``arith`` calls them
_ROUNDINGS = {0: "#arith.roundingmode<toward_zero>", 1: "#arith.roundingmode<to_nearest_even>"}


@RULES.on(tt.FpToFpOp)
def _float(lowering: Lowering, op: ir.Operation) -> None:
    (result,), source = op.results, lowering.values[source_of(op)]
    wide, narrow = (_width(value) for value in (source, result))
    if narrow > wide:
        lowering.values[result] = arith.ExtFOp(result.type, source).result
        return
    if narrow == wide:
        refuse(op, "conversions between floats of one width", "convert to float32 in between")
    made = arith.TruncFOp(result.type, source)
    if "rounding" in op.attributes:
        mode = _ROUNDINGS[ir.IntegerAttr(op.attributes["rounding"]).value]
        made.operation.attributes["roundingmode"] = ir.Attribute.parse(mode)
    lowering.values[result] = made.result


def _width(value: ir.Value) -> int:
    type_ = value.type.element_type if isinstance(value.type, ir.RankedTensorType) else value.type
    return int(type_.width)


@RULES.on(tt.MapElementwiseOp)
def _map(lowering: Lowering, op: ir.Operation) -> None:
    view = cast(op, tt.MapElementwiseOp)
    if ir.IntegerAttr(view.pack).value != 1:
        refuse(op, "functions of several elements at a time", "call map_elementwise without pack")
    block = op.regions[0].blocks[0]
    inputs = [lowering.values[value] for value in op.operands]
    types = [result.type for result in op.results]
    found = build.generic(inputs, types, lambda elements: lowering.inline(block, elements))
    lowering.values.update(zip(op.results, found, strict=True))
