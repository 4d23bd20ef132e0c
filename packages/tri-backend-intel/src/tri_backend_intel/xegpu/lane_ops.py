"""Ops of lanes (``ttig.lanes``), which upstream's dialects have no words for: emitted on the level of sub-groups, dealt after upstream's pass.

Upstream gives lanes only what it knows; an op that it does not know keeps its vectors.  So operands and results have their
layout said, and the op takes what lanes have of them once the pass is through.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tri_backend_intel.dialect import Dealt, LanesOp
from tri_backend_intel.xegpu.layouts import refusal
from tri_core.ir.rewriting import erase_dead
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops

if TYPE_CHECKING:
    from tri_backend_intel.xegpu.conversion import Conversion

__all__ = ["deal_lane_ops", "lanes"]

_NAME = LanesOp.OPERATION_NAME
_CAST = "builtin.unrealized_conversion_cast"
#: what says how a value lies, and is left where nothing else wants the value
_PASSED = (_CAST, "xegpu.convert_layout")


def lanes(
    ctx: Conversion,
    does: str,
    operands: Sequence[tuple[ir.Value, Dealt]],
    results: Sequence[tuple[ir.Type, Dealt]],
    **attributes: ir.Attribute,
) -> list[ir.Value]:
    """The results of what ``does`` names."""
    values = [_pinned(ctx, value, dealt) for value, dealt in operands]
    made = ctx.make(
        _NAME, values, *(type_ for type_, _ in results), does=ir.StringAttr.get(does),
        dealt_in=_kinds([dealt for _, dealt in operands]), dealt_out=_kinds([dealt for _, dealt in results]),
        **attributes,
    )  # fmt: skip
    return [_pinned(ctx, value, dealt) for value, (_, dealt) in zip(made, results, strict=True)]


def _kinds(dealt: Sequence[Dealt]) -> ir.Attribute:
    return ir.DenseI32ArrayAttr.get([int(each) for each in dealt])


def _pinned(ctx: Conversion, value: ir.Value, dealt: Dealt) -> ir.Value:
    if dealt is Dealt.OWN:
        return value
    return ctx.pinned(value, rows=dealt is not Dealt.ROW, lanes=dealt is not Dealt.COLUMN)


def deal_lane_ops(module: ir.Module) -> None:
    """After upstream has dealt everything else: operands and results become what a lane has, in one dimension.

    Unsupported, located, for an operand that was not dealt.
    """
    for op in all_ops(module.operation):
        if op.name == _NAME:
            _deal(op)
    # what upstream made for ops of lanes alone
    erase_dead(module.operation, lambda op: op.name == _CAST)


def _deal(op: ir.Operation) -> None:
    dealt_in, dealt_out = (
        [Dealt(n) for n in ir.DenseI32ArrayAttr(op.attributes[name])] for name in ("dealt_in", "dealt_out")
    )
    attributes = {name: op.attributes[name] for name in op.attributes}
    with ir.InsertionPoint(op), op.location:
        operands = [_taken(op, value, dealt) for value, dealt in zip(op.operands, dealt_in, strict=True)]
        types = [_of_a_lane(r.type, dealt) for r, dealt in zip(op.results, dealt_out, strict=True)]
        made = ir.Operation.create(_NAME, results=types, operands=operands, attributes=attributes)
        for old, new, dealt in zip(op.results, made.results, dealt_out, strict=True):
            _give(old, new, dealt)
    op.erase()


def _of_a_lane(type_: ir.Type, dealt: Dealt) -> ir.Type:
    """The type, in one dimension."""
    if dealt is Dealt.PIECE:
        return ir.VectorType.get(type_.shape[:1], type_.element_type)
    return ir.VectorType.get([1], type_.element_type) if dealt is Dealt.ROW else type_


def _taken(op: ir.Operation, value: ir.Value, dealt: Dealt) -> ir.Value:
    wanted = _of_a_lane(value.type, dealt)
    if dealt is Dealt.OWN:
        return value
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in _PASSED:
        value = value.owner.operation.operands[0]
    if _elements(value.type) != _elements(wanted) and (splat := _splat(value)) is not None:
        number = ir.DenseElementsAttr.get_splat(wanted, splat)
        made = ir.Operation.create("arith.constant", results=[wanted], attributes={"value": number})
        return made.results[0]
    if _elements(value.type) != _elements(wanted):
        raise refusal(op, f"{value.type} is not dealt to lanes")
    return value if value.type == wanted else _shaped(value, wanted)


def _splat(value: ir.Value) -> ir.Attribute | None:
    """The number that a constant is everywhere; upstream may leave constants as they are."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
        return None
    number = ir.DenseElementsAttr(value.owner.operation.attributes["value"])
    return number.get_splat_value() if number.is_splat else None


def _elements(type_: ir.Type) -> int:
    count = 1
    for extent in type_.shape:
        count *= extent
    return count


def _shaped(value: ir.Value, type_: ir.Type) -> ir.Value:
    return ir.Operation.create("vector.shape_cast", results=[type_], operands=[value]).results[0]


def _give(old: ir.Value, new: ir.Value, dealt: Dealt) -> None:
    """``new`` in place of ``old``, also where that was cast to what a lane has."""
    if dealt is Dealt.PIECE:
        new = _shaped(new, ir.VectorType.get([*new.type.shape, 1], new.type.element_type))
    for use in list(old.uses):
        user = use.owner.operation
        if user.name == _CAST and user.results[0].type == new.type:
            user.results[0].replace_all_uses_with(new)
    old.replace_all_uses_with(new)
