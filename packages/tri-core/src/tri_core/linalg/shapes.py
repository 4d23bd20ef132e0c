"""Movements of elements: splats, broadcasts, reshapes, transpositions, parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tri_core.dialects import tt
from tri_core.ir.views import cast
from tri_core.linalg import build, indices
from tri_core.linalg.boxes import Box
from tri_core.linalg.indices import Index
from tri_core.linalg.state import RULES, Lowering, Pointer, is_pointer, refuse, shape_of
from tri_core.linalg.strides import Strided
from tri_core.mlir import arith, ir, linalg, tensor

__all__: list[str] = []

_Move = Callable[[ir.Value, Sequence[int]], ir.Value]


def _move(
    lowering: Lowering,
    op: ir.Operation,
    move: _Move,
    places: Callable[[Strided], Strided | None],
    box: Callable[[Box], Box | None],
) -> None:
    """The one operand moved: by ``move`` as a tensor, by ``places`` and ``box`` what is known of it."""
    (source,), (result,) = op.operands, op.results
    shape = shape_of(result)
    if is_pointer(source):
        pointer = lowering.pointers[source]
        known = places(pointer.offset) if isinstance(pointer.offset, Strided) else None
        lowering.pointers[result] = pointer.moved(known or move(pointer.offsets(), shape))
        return
    lowering.values[result] = move(lowering.values[source], shape)
    integers, mask = lowering.strided.get(source), lowering.boxes.get(source)
    if integers is not None and (moved := places(integers)) is not None:
        lowering.strided[result] = moved
    if mask is not None and (bounds := box(mask)) is not None:
        lowering.boxes[result] = bounds


@RULES.on(tt.MakeRangeOp)
def _range(lowering: Lowering, op: ir.Operation) -> None:
    view = cast(op, tt.MakeRangeOp)
    (result,) = op.results
    places = Strided(ir.IntegerAttr(view.start).value, (1,), shape_of(result))
    lowering.strided[result] = places
    lowering.values[result] = build.materialize(places, result.type.element_type)


@RULES.on(tt.SplatOp)
def _splat(lowering: Lowering, op: ir.Operation) -> None:
    (source,), (result,) = op.operands, op.results
    shape = shape_of(result)
    if is_pointer(source):
        pointer = lowering.pointers[source]
        assert isinstance(pointer.offset, Strided), "the offset of one pointer is a scalar"
        lowering.pointers[result] = pointer.moved(pointer.offset.splat(shape))
        return
    value = lowering.values[source]
    lowering.values[result] = build.filled(value, result.type)
    if not isinstance(value.type, ir.IntegerType) or not shape:
        return
    if value.type.width > 1:
        lowering.strided[result] = Strided(indices.as_index(value)).splat(shape)
    else:
        lowering.boxes[result] = Box.uniform(value, shape)


@RULES.on(tt.UnsplatOp)
def _unsplat(lowering: Lowering, op: ir.Operation) -> None:
    (source,), (result,) = op.operands, op.results
    zeros = [indices.constant(0)] * len(shape_of(source))
    if not is_pointer(source):
        lowering.values[result] = tensor.ExtractOp(lowering.values[source], zeros).result
        return
    pointer = lowering.pointers[source]
    offset = tensor.ExtractOp(pointer.offsets(), zeros).result
    lowering.pointers[result] = pointer.moved(Strided(offset))


@RULES.on(tt.ExpandDimsOp)
def _expand(lowering: Lowering, op: ir.Operation) -> None:
    axis = ir.IntegerAttr(cast(op, tt.ExpandDimsOp).axis).value
    _move(lowering, op, reshape, lambda known: known.expanded(axis), lambda known: known.expanded(axis))


@RULES.on(tt.BroadcastOp)
def _broadcast(lowering: Lowering, op: ir.Operation) -> None:
    shape = shape_of(op.results[0])
    _move(lowering, op, broadcast, lambda known: known.broadcast(shape), lambda known: known.broadcast(shape))


@RULES.on(tt.TransOp)
def _transpose(lowering: Lowering, op: ir.Operation) -> None:
    order = list(ir.DenseI32ArrayAttr(op.attributes["order"]))

    def move(value: ir.Value, shape: Sequence[int]) -> ir.Value:
        init = build.empty(build.tensor_type(shape, value.type.element_type))
        made = linalg.TransposeOp([init.type], value, init, order).operation
        linalg.fill_builtin_region(made)
        return made.results[0]

    _move(lowering, op, move, lambda known: known.transposed(order), lambda known: known.transposed(order))


@RULES.on(tt.ReshapeOp)
def _reshape(lowering: Lowering, op: ir.Operation) -> None:
    shape = shape_of(op.results[0])

    def places(known: Strided) -> Strided | None:
        if known.is_uniform:
            return Strided(known.offset).splat(shape)
        return _row(known, shape)

    _move(lowering, op, reshape, places, lambda known: Box.full(shape) if known.is_full else None)


def _row(known: Strided, shape: Sequence[int]) -> Strided | None:
    """Value of one dimension beside those of size 1, in ``shape``."""
    moving = [stride for stride, size in zip(known.strides, known.shape, strict=True) if size > 1]
    if len(moving) > 1:
        return None
    strides: list[Index] = []
    inner = 1
    for size in reversed(shape):
        strides.insert(0, indices.multiply(moving[0], inner) if size > 1 else 0)
        inner *= size
    return Strided(known.offset, tuple(strides), tuple(shape))


# --- tensors ----------------------------------------------------------------------------------------------


def reshape(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """The same elements, row-major, in ``shape``."""
    old, element = list(value.type.shape), value.type.element_type
    if old == list(shape):
        return value
    flat = value
    if len(old) != 1:
        type_ = build.tensor_type([math.prod(old)] if old else [1], element)
        if not old:
            return tensor.ExpandShapeOp(build.tensor_type(shape, element), value, [], [], list(shape)).result
        flat = tensor.CollapseShapeOp(type_, value, [list(range(len(old)))]).result
    if len(shape) == 1:
        return flat
    groups = [list(range(len(shape)))] if shape else []
    if not shape:
        return tensor.CollapseShapeOp(build.tensor_type(shape, element), flat, []).result
    return tensor.ExpandShapeOp(build.tensor_type(shape, element), flat, groups, [], list(shape)).result


def broadcast(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """Dimensions of size 1 stretched to ``shape``."""
    old = list(value.type.shape)
    stretched = [d for d, (size, new) in enumerate(zip(old, shape, strict=True)) if size != new]
    if not stretched:
        return value
    kept = [size for d, size in enumerate(old) if d not in stretched]
    init = build.empty(build.tensor_type(shape, value.type.element_type))
    made = linalg.BroadcastOp([init.type], reshape(value, kept), init, stretched).operation
    linalg.fill_builtin_region(made)
    return made.results[0]


@RULES.on(tt.CatOp, tt.JoinOp)
def _join(lowering: Lowering, op: ir.Operation) -> None:
    (result,) = op.results
    if is_pointer(result):
        refuse(op, "joined pointers", "join what is loaded")
    parts = [lowering.values[value] for value in op.operands]
    old, shape = shape_of(parts[0]), shape_of(result)
    sizes = old if len(old) == len(shape) else (*old, 1)
    axis = 0 if len(old) == len(shape) else len(old)
    found = build.empty(result.type)
    for number, part in enumerate(parts):
        low = [number * sizes[axis] if d == axis else 0 for d in range(len(shape))]
        found = build.insert_slice(part, found, low, sizes)
    lowering.values[result] = found


@RULES.on(tt.SplitOp)
def _split(lowering: Lowering, op: ir.Operation) -> None:
    (source,) = op.operands
    if is_pointer(source):
        refuse(op, "split pointers", "split what is loaded")
    *sizes, _ = shape_of(source)
    for number, result in enumerate(op.results):
        low = [*[0] * len(sizes), number]
        lowering.values[result] = build.extract_slice(
            lowering.values[source], low, [*sizes, 1], dropped=len(sizes)
        )


@RULES.on(tt.GatherOp)
def _gather(lowering: Lowering, op: ir.Operation) -> None:
    view = cast(op, tt.GatherOp)
    axis = ir.IntegerAttr(view.axis).value
    (result,), source = op.results, lowering.values[view.src]

    def body(elements: Sequence[ir.Value]) -> Sequence[ir.Value]:
        at = build.place(len(shape_of(result)))
        at[axis] = indices.as_index(elements[0])
        return [tensor.ExtractOp(source, at).result]

    (lowering.values[result],) = build.generic([lowering.values[view.indices]], [result.type], body)


@RULES.on(tt.AddPtrOp)
def _advance(lowering: Lowering, op: ir.Operation) -> None:
    view = cast(op, tt.AddPtrOp)
    pointer, offset = lowering.pointers[view.ptr], lowering.integers(view.offset)
    lowering.pointers[op.results[0]] = _advanced(lowering, pointer, view.offset, offset)


def _advanced(lowering: Lowering, pointer: Pointer, value: ir.Value, offset: Strided | None) -> Pointer:
    if isinstance(pointer.offset, Strided) and offset is not None:
        return pointer.moved(pointer.offset.plus(offset))
    moved = indices.as_index(lowering.values[value])
    if not isinstance(pointer.offset, Strided) or not pointer.offset.is_zero:
        moved = arith.AddIOp(pointer.offsets(), moved).result
    return pointer.moved(moved)
