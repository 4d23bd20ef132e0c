"""Accesses by pointers, element by element and under any mask: a message for each 16 lanes.

A tensor of pointers is an address, and pieces of offsets from it.  What is the same in all lanes is loaded once for them, and
stored by as many lanes as there are elements.
"""

from __future__ import annotations

from collections.abc import Callable

from tri_backend_intel.dialect import Dealt
from tri_backend_intel.xegpu.conversion import (
    Conversion,
    Known,
    Pieces,
    element_of,
    is_pointers,
)
from tri_backend_intel.xegpu.lane_ops import lanes
from tri_backend_intel.xegpu.layouts import LANES, lane_layout, refusal
from tri_core.dialects.tt import LoadOp, PointerType, StoreOp
from tri_core.ir.views import cast
from tri_core.mlir import ir

__all__ = ["addptr", "load", "splat", "store"]


def splat(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """A number everywhere; of a pointer, no offset from it anywhere."""
    (result,), (source,) = op.results, op.operands
    types = ctx.types_of(result)
    if is_pointers(result.type):
        zero = ctx.number(types[0], 0)
        return [Pieces(ctx.share(result), (zero,) * len(types), ctx.address(ctx.number_of(source)))]
    return [ctx.tensor(result, (ctx.everywhere(ctx.number_of(source), types[0]),) * len(types))]


def addptr(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """Offsets further, or one pointer."""
    source, by = op.operands
    if is_pointers(source.type):
        offsets, further = ctx.pieces_of(source), ctx.pieces_of(by)
        pairs = zip(offsets.values, further.values, strict=True)
        made = [ctx.one("arith.addi", [a, ctx.cast(b, a.type)], a.type) for a, b in pairs]
        return [Pieces(offsets.share, tuple(made), offsets.base)]
    step = ctx.number_of(by)
    if step.type != ctx.i64:
        step = ctx.one("arith.extsi", [step], ctx.i64)
    moved = _moved(ctx, ctx.address(ctx.number_of(source)), step, PointerType(source.type).pointee_type)
    return [ctx.one("llvm.inttoptr", [moved], ctx.element(source))]


def load(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """``other``, or zero, where the mask is false."""
    view = cast(op, LoadOp)
    element = ctx.element(op.results[0])
    _check(op, element)
    mask, other = (_known(ctx, v) for v in (view.mask, view.other))
    if not isinstance(view.ptr.type, ir.RankedTensorType):
        assert not isinstance(mask, Pieces)
        assert not isinstance(other, Pieces)
        return [_load_number(ctx, ctx.number_of(view.ptr), element, mask, other)]
    pointers = ctx.pieces_of(view.ptr)
    assert pointers.base is not None
    found: list[ir.Value] = []
    for number, offsets in enumerate(pointers.values):
        here = _piece(mask, number)
        made = _load_piece(ctx, pointers, offsets, here, element)
        if other is not None and here is not None:
            made = ctx.one("arith.select", [here, made, _piece(other, number)], made.type)
        found.append(made)
    return [Pieces(pointers.share, tuple(found))]


def store(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """By one of the sub-groups that have the same."""
    view = cast(op, StoreOp)
    mask, value = _known(ctx, view.mask), ctx.known[view.value]
    _check(op, ctx.element(view.value))
    if not isinstance(value, Pieces):
        assert not isinstance(mask, Pieces)
        _store_number(ctx, ctx.number_of(view.ptr), value, mask)
        return []
    pointers = ctx.pieces_of(view.ptr)

    def put() -> None:
        for number, offsets in enumerate(pointers.values):
            _store_piece(ctx, pointers, offsets, value.values[number], _piece(mask, number))

    ctx.once(pointers.share, put)
    return []


# --- pieces -----------------------------------------------------------------------------------------------


def _load_piece(
    ctx: Conversion, pointers: Pieces, offsets: ir.Value, mask: ir.Value | None, element: ir.Type
) -> ir.Value:
    base, share = pointers.base, pointers.share
    assert base is not None
    if share.along is None:
        return _load_same(ctx, base, offsets, mask, element)
    if len(share.piece) == 1:
        return _load_lanes(ctx, base, offsets, mask, element)
    rows = []
    for row in range(share.piece[0]):
        here = None if mask is None else ctx.rows(mask, row, 1)
        rows.append(_load_lanes(ctx, base, ctx.rows(offsets, row, 1), here, element))
    return ctx.stacked(rows)


def _load_lanes(
    ctx: Conversion, base: ir.Value, offsets: ir.Value, mask: ir.Value | None, element: ir.Type
) -> ir.Value:
    mask = ctx.number(_bits(offsets.type), 1) if mask is None else mask
    layout = lane_layout(rows=len(offsets.type.shape) == 2)
    type_ = ir.VectorType.get(offsets.type.shape, element)
    return ctx.one("xegpu.load", [base, offsets, mask], type_, layout=layout)


def _load_same(
    ctx: Conversion, base: ir.Value, offsets: ir.Value, mask: ir.Value | None, element: ir.Type
) -> ir.Value:
    """Elements that all lanes have, one after the other."""
    if not isinstance(offsets.type, ir.VectorType):
        return _load_number(ctx, _pointer(ctx, base, offsets, element), element, mask, None)
    type_ = ir.VectorType.get(offsets.type.shape, element)
    found = []
    for i in range(type_.shape[0]):
        at = ir.DenseI64ArrayAttr.get([i])
        offset = ctx.one("vector.extract", [offsets], ctx.index, static_position=at)
        here = None if mask is None else ctx.one("vector.extract", [mask], ctx.i1, static_position=at)
        found.append(_load_number(ctx, _pointer(ctx, base, offset, element), element, here, None))
    # by an op of lanes: upstream's pass has no layout for what is inserted into a vector
    return lanes(ctx, "column", [(v, Dealt.OWN) for v in found], [(type_, Dealt.COLUMN)])[0]


def _store_piece(
    ctx: Conversion, pointers: Pieces, offsets: ir.Value, value: ir.Value, mask: ir.Value | None
) -> None:
    base, share = pointers.base, pointers.share
    assert base is not None
    if not share.piece:
        _store_number(ctx, _pointer(ctx, base, offsets, value.type), value, mask)
    elif share.along is None:
        _store_same(ctx, base, offsets, value, mask)
    elif len(share.piece) == 1:
        _store_lanes(ctx, base, offsets, value, mask)
    else:
        for row in range(share.piece[0]):
            here = None if mask is None else ctx.rows(mask, row, 1)
            _store_lanes(ctx, base, ctx.rows(offsets, row, 1), ctx.rows(value, row, 1), here)


def _store_lanes(
    ctx: Conversion, base: ir.Value, offsets: ir.Value, value: ir.Value, mask: ir.Value | None
) -> None:
    mask = ctx.number(_bits(offsets.type), 1) if mask is None else mask
    ctx.make(
        "xegpu.store", [value, base, offsets, mask], layout=lane_layout(rows=len(offsets.type.shape) == 2)
    )


def _store_same(
    ctx: Conversion, base: ir.Value, offsets: ir.Value, value: ir.Value, mask: ir.Value | None
) -> None:
    """Elements that all lanes have: lane i takes the i-th."""
    (count,) = value.type.shape
    shape = [LANES]
    steps = ctx.one("vector.step", [], ir.VectorType.get(shape, ctx.index))

    def compared(number: int, predicate: int) -> ir.Value:
        return ctx.one(
            "arith.cmpi", [steps, ctx.number(steps.type, number)], ir.VectorType.get(shape, ctx.i1),
            predicate=ir.IntegerAttr.get(ctx.i64, predicate),
        )  # fmt: skip

    def dealt(source: ir.Value) -> ir.Value:
        type_ = ir.VectorType.get(shape, element_of(source))
        made: ir.Value | None = None
        for i in range(count):
            one = ctx.one(
                "vector.extract", [source], element_of(source), static_position=ir.DenseI64ArrayAttr.get([i])
            )
            one = ctx.everywhere(one, type_)
            made = one if made is None else ctx.one("arith.select", [compared(i, 0), one, made], type_)
        assert made is not None
        return made

    here = compared(count, 6)  # ult
    if mask is not None:
        here = ctx.one("arith.andi", [here, dealt(mask)], here.type)
    _store_lanes(ctx, base, dealt(offsets), dealt(value), here)


# --- numbers ----------------------------------------------------------------------------------------------


def _load_number(
    ctx: Conversion, pointer: ir.Value, element: ir.Type, mask: ir.Value | None, other: ir.Value | None
) -> ir.Value:
    """One element, for all lanes."""
    if mask is None:
        return ctx.one("llvm.load", [pointer], element)
    branch = ir.Operation.create("scf.if", results=[element], operands=[mask], regions=2)
    makers: list[Callable[[], ir.Value]] = [
        lambda: ctx.one("llvm.load", [pointer], element),
        lambda: ctx.number(element, 0) if other is None else other,
    ]
    for region, make in zip(branch.regions, makers, strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            ir.Operation.create("scf.yield", operands=[make()])
    return branch.results[0]


def _store_number(ctx: Conversion, pointer: ir.Value, value: ir.Value, mask: ir.Value | None) -> None:
    """One element, by the first lane of the first sub-group."""
    zero, equal = ctx.number(ctx.index, 0), ir.IntegerAttr.get(ctx.i64, 0)
    numbers = [ctx.lane(), *ctx.coordinates]
    conditions = [ctx.one("arith.cmpi", [v, zero], ctx.i1, predicate=equal) for v in numbers]
    conditions += [] if mask is None else [mask]
    held = conditions[0]
    for each in conditions[1:]:
        held = ctx.one("arith.andi", [held, each], ctx.i1)

    def put() -> None:
        ctx.make("llvm.store", [value, pointer])

    ctx.when(held, put)


def _pointer(ctx: Conversion, base: ir.Value, offset: ir.Value, element: ir.Type) -> ir.Value:
    moved = _moved(ctx, base, ctx.cast(offset, ctx.i64), element)
    return ctx.one("llvm.inttoptr", [moved], ir.Type.parse("!llvm.ptr<1>"))


def _moved(ctx: Conversion, address: ir.Value, by: ir.Value, element: ir.Type) -> ir.Value:
    step = ctx.one("arith.muli", [by, ctx.number(ctx.i64, element.width // 8)], ctx.i64)
    return ctx.one("arith.addi", [address, step], ctx.i64)


def _bits(type_: ir.Type) -> ir.Type:
    return ir.VectorType.get(type_.shape, ir.IntegerType.get_signless(1))


def _known(ctx: Conversion, value: ir.Value | None) -> Known | None:
    return None if value is None else ctx.known[value]


def _piece(known: Known | None, number: int) -> ir.Value | None:
    return known.values[number] if isinstance(known, Pieces) else known


def _check(op: ir.Operation, element: ir.Type) -> None:
    if not isinstance(element, ir.IntegerType | ir.FloatType) or element.width < 8:
        raise refusal(op, f"memory has no elements of {element}")
