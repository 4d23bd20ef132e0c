"""Loads and stores: windows of memory where places are known, else element by element."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects import tt
from tri_core.ir.views import cast, defining_op
from tri_core.linalg import build
from tri_core.linalg.boxes import Box
from tri_core.linalg.state import RULES, Lowering, Pointer, is_pointer, refuse, shape_of
from tri_core.linalg.strides import Strided
from tri_core.mlir import arith, bufferization, ir, memref, scf, tensor

__all__: list[str] = []


@RULES.on(tt.LoadOp)
def _load(lowering: Lowering, op: ir.Operation) -> None:
    view = cast(op, tt.LoadOp)
    (result,) = op.results
    if is_pointer(result):
        refuse(op, "pointers in memory", "pass each array as an argument of its own")
    pointer = lowering.pointers[view.ptr]
    box = _box(lowering, view.mask, shape_of(result))
    if not shape_of(result):
        found = _load_scalar(lowering, pointer, view)
    elif isinstance(pointer.offset, Strided) and box is not None:
        found = _load_window(lowering, pointer.base, pointer.offset, box, view)
    else:
        found = _load_elements(lowering, pointer, view)
    lowering.values[result] = found


@RULES.on(tt.StoreOp)
def _store(lowering: Lowering, op: ir.Operation) -> None:
    view = cast(op, tt.StoreOp)
    if is_pointer(view.value):
        refuse(op, "pointers in memory", "pass each array as an argument of its own")
    pointer, value = lowering.pointers[view.ptr], lowering.values[view.value]
    shape = shape_of(view.value)
    box = _box(lowering, view.mask, shape)
    if not shape:
        _store_scalar(lowering, pointer, value, view)
    elif isinstance(pointer.offset, Strided) and box is not None:
        _store_window(pointer.base, pointer.offset, box, value)
    else:
        _store_elements(lowering, pointer, value, view)


def _box(lowering: Lowering, mask: ir.Value | None, shape: Sequence[int]) -> Box | None:
    return Box.full(shape) if mask is None else lowering.boxes.get(mask)


def _uniform(lowering: Lowering, value: ir.Value | None, element: ir.Type) -> ir.Value | None:
    """The scalar that ``value`` (None: what nobody asked for, zeros) is everywhere; None where it is not known to be one."""
    if value is None:
        return build.scalar_constant(element, 0)
    if not shape_of(value):
        return lowering.values[value]
    splat, constant = defining_op(value, tt.SplatOp), defining_op(value, arith.ConstantOp)
    if splat is not None:
        return lowering.values[splat.src]
    if constant is None:
        return None
    elements = constant.attributes["value"]
    if not isinstance(elements, ir.DenseElementsAttr) or not elements.is_splat:
        return None
    return arith.ConstantOp(element, elements.get_splat_value()).result


# --- windows ----------------------------------------------------------------------------------------------


def _load_window(lowering: Lowering, base: ir.Value, places: Strided, box: Box, view: tt.LoadOp) -> ir.Value:
    """A copy of the window; outside of ``box`` what the load says, or zeros, and no memory is touched."""
    element, shape = base.type.element_type, list(places.shape)
    source = build.window(base, places)
    target = memref.AllocOp(ir.MemRefType.get(shape, element), [], []).result
    copied = target
    if not box.is_full:
        other = _uniform(lowering, view.other, element)
        if other is not None:
            build.fill(other, target)
        else:
            bufferization.MaterializeInDestinationOp(None, lowering.values[view.other], target, writable=True)
        source, copied = build.subview(source, box), build.subview(target, box)
    memref.CopyOp(source, copied)
    type_ = build.tensor_type(shape, element)
    return bufferization.ToTensorOp(type_, target, restrict=True, writable=True).result


def _store_window(base: ir.Value, places: Strided, box: Box, value: ir.Value) -> None:
    target = build.window(base, places)
    if not box.is_full:
        target = build.subview(target, box)
        value = build.extract_slice(value, box.low, box.sizes)
    bufferization.MaterializeInDestinationOp(None, value, target, writable=True)


# --- elements ---------------------------------------------------------------------------------------------


def _flat(base: ir.Value) -> ir.Value:
    """All of the memory of ``base``, whose elements are counted by an index."""
    type_ = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], base.type.element_type)
    return memref.CastOp(type_, base).result


def _load_elements(lowering: Lowering, pointer: Pointer, view: tt.LoadOp) -> ir.Value:
    """A copy, element by element.

    No ``linalg.generic``, which counts as pure on tensors: fusion moves a load in it behind stores.
    """
    flat, element, shape = _flat(pointer.base), pointer.base.type.element_type, shape_of(view.ptr)
    offsets = pointer.offsets()
    uniform = _uniform(lowering, view.other, element) if view.mask is not None else None
    target = memref.AllocOp(ir.MemRefType.get(shape, element), [], []).result
    with build.nest(shape) as at:
        offset = tensor.ExtractOp(offsets, at).result
        if view.mask is None:
            found = memref.LoadOp(flat, [offset]).result
        else:
            other = (
                uniform if uniform is not None else tensor.ExtractOp(lowering.values[view.other], at).result
            )
            found = _load_where(tensor.ExtractOp(lowering.values[view.mask], at).result, flat, offset, other)
        memref.StoreOp(found, target, at)
    type_ = build.tensor_type(shape, element)
    return bufferization.ToTensorOp(type_, target, restrict=True, writable=True).result


def _load_where(condition: ir.Value, flat: ir.Value, offset: ir.Value, other: ir.Value) -> ir.Value:
    """The element at ``offset`` where ``condition`` is true, else ``other``."""
    branch = ir.Operation.create("scf.if", results=[other.type], operands=[condition], regions=2)
    yes, no = (region.blocks.append() for region in branch.regions)
    with ir.InsertionPoint(yes):
        scf.YieldOp([memref.LoadOp(flat, [offset]).result])
    with ir.InsertionPoint(no):
        scf.YieldOp([other])
    return branch.results[0]


def _store_elements(lowering: Lowering, pointer: Pointer, value: ir.Value, view: tt.StoreOp) -> None:
    flat, offsets = _flat(pointer.base), pointer.offsets()
    with build.nest(shape_of(view.value)) as at:
        _store_where(
            None if view.mask is None else tensor.ExtractOp(lowering.values[view.mask], at).result,
            tensor.ExtractOp(value, at).result,
            flat,
            tensor.ExtractOp(offsets, at).result,
        )


def _store_where(condition: ir.Value | None, value: ir.Value, flat: ir.Value, offset: ir.Value) -> None:
    if condition is None:
        memref.StoreOp(value, flat, [offset])
        return
    with build.when(condition):
        memref.StoreOp(value, flat, [offset])


# --- scalars ----------------------------------------------------------------------------------------------


def _load_scalar(lowering: Lowering, pointer: Pointer, view: tt.LoadOp) -> ir.Value:
    flat, offset = _flat(pointer.base), pointer.offsets()
    if view.mask is None:
        return memref.LoadOp(flat, [offset]).result
    other = _uniform(lowering, view.other, pointer.base.type.element_type)
    assert other is not None, "a scalar is uniform"
    return _load_where(lowering.values[view.mask], flat, offset, other)


def _store_scalar(lowering: Lowering, pointer: Pointer, value: ir.Value, view: tt.StoreOp) -> None:
    condition = None if view.mask is None else lowering.values[view.mask]
    _store_where(condition, value, _flat(pointer.base), pointer.offsets())
