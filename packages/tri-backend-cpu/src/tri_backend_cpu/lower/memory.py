"""Loads, stores and addresses.

An access whose lanes are consecutive is one vector access; one whose lanes are equal is a scalar one;
anything else is a gather or a scatter.  The arena is accessed in the same way, without masks.
"""

from __future__ import annotations

from tri_backend_cpu.analysis.depth import STRETCH
from tri_backend_cpu.analysis.plan import View
from tri_backend_cpu.builder import I1, I64, storage_of
from tri_backend_cpu.lower.linear import Linear, Runs, linear
from tri_backend_cpu.lower.place import Address, Lanes, Place
from tri_backend_cpu.lower.values import Values
from tri_core.dialects.tt.enums import CacheModifier
from tri_core.mlir import ir
from tri_core.ttir import DType, Op, Value

__all__ = ["address", "load", "pointers", "read_view", "store", "write_view"]


#: bytes of a vector that is worth going past the caches
_LEAST_STREAMED = 32

# --- addresses ------------------------------------------------------------------------------------------


def address(e: Values, pointer: Value, place: Place) -> Address:
    """The address that tensor (or scalar) ``pointer`` holds at ``place`` (:meth:`Values.address` remembers it)."""
    base, offset = _decompose(e, pointer, place)
    return _resolve(e, base, offset, pointer.dtype.element)


def pointers(e: Values, pointer: Value, place: Place) -> Lanes:
    """Pointers as register values, one per lane."""
    found = e.address(pointer, place)
    if not found.contiguous:
        return found.pointer
    with e.frame.at(found.pointer.level) as b:
        made = b.offset(found.pointer.value, b.iota(I64, e.frame.width), pointer.dtype.element)
    return Lanes(made, found.pointer.level, wide=True)


def _decompose(e: Values, pointer: Value, place: Place) -> tuple[Lanes, Linear]:
    """``pointer`` as a base and an offset in elements."""
    if not pointer.is_tensor:
        return Lanes(e.scalar(pointer), 0, wide=False), Linear()
    induction = e.plan.inductions.get(pointer)
    if induction is not None:
        base, offset = _decompose(e, induction.initial, place)
        offset.parts.append(Lanes(e.moved[pointer], 0, wide=False))
        return base, offset
    op = pointer.op
    if op is not None and not e.is_stored(pointer):
        match op.name:
            case "tt.splat":
                return Lanes(e.scalar(op.operands[0]), 0, wide=False), Linear()
            case "tt.broadcast" | "tt.expand_dims" | "tt.trans":
                return _decompose(e, op.operands[0], e.operand_place(op, place))
            case "tt.addptr":
                return _advanced(e, op, place)
    return _opaque(e, pointer, place), Linear()


def _advanced(e: Values, op: Op, place: Place) -> tuple[Lanes, Linear]:
    """A pointer that was moved; one that was moved very often is computed in stretches."""
    before_op = op.operand("ptr")
    if e.plan.depth.get(before_op, 0) % STRETCH == STRETCH - 1:
        found = e.address(before_op, place)
        base, before = found.pointer, Linear(stride=int(found.contiguous))
    else:
        base, before = _decompose(e, before_op, place)
    moved = linear(e, op.operand("offset"), place, Runs(e.context.address_axis, e.frame.width))
    if before.vector is not None and moved.vector is not None:
        return _resolve(e, base, before, op.result.dtype.element, spread=True).pointer, moved
    return base, Linear(
        before.constant + moved.constant,
        before.parts + moved.parts,
        before.stride + moved.stride,
        before.vector or moved.vector,
    )


def _opaque(e: Values, pointer: Value, place: Place) -> Lanes:
    """Pointers that are data: read from memory, chosen by a condition, made from integers."""
    op = pointer.op
    if e.is_stored(pointer) or op is None:
        return e.read(e.plan.views[pointer] if op is not None else e.plan.carried[pointer], place)
    return e.by_op(pointer, op, place)


def _resolve(e: Values, base: Lanes, offset: Linear, element: DType, *, spread: bool = False) -> Address:
    """``base`` moved by ``offset`` elements; ``spread``: as one address per lane in any case."""
    pointer, frame = base, e.frame
    total = offset.total(frame)
    if total is not None:
        level = max(pointer.level, total.level)
        with frame.at(level) as b:
            pointer = Lanes(b.offset(pointer.value, total.value, element), level, pointer.wide)
    with frame.at(pointer.level) as b:
        pointer = Lanes(b.offset(pointer.value, offset.constant, element), pointer.level, pointer.wide)
    if not pointer.wide and offset.vector is None and offset.stride in (0, 1) and not spread:
        return Address(pointer, contiguous=offset.stride == 1)
    if offset.stride:
        with frame.at(pointer.level) as b:
            steps = b.lanes([offset.stride * lane for lane in range(frame.width)], I64)
            pointer = Lanes(b.offset(pointer.value, steps, element), pointer.level, wide=True)
    if offset.vector is not None:
        level = max(pointer.level, offset.vector.level)
        with frame.at(level) as b:
            pointer = Lanes(b.offset(pointer.value, offset.vector.value, element), level, wide=True)
    return Address(pointer, contiguous=False)


# --- the kernel's memory ----------------------------------------------------------------------------------


def load(e: Values, op: Op, place: Place) -> Lanes:
    """A ``tt.load`` at ``place``; memory is not touched where the mask is false.

    A volatile one sees what other threads write: the compiler moves none of the memory's accesses over it.
    """
    where = e.address(op.operand("ptr"), place)
    other_value = op.optional("other")
    other = e.lanes(other_value, place) if other_value is not None else None
    level = max(x.level for x in (where.pointer, other) if x is not None)
    mask = e.mask_outside(op.optional("mask"), place, level)
    level = max(level, mask.level) if mask is not None else level
    if e.context.checks is not None:
        mask = e.context.checks.mask(e.frame, op, where, mask, level)
    if op.attributes.get("isVolatile") or op.attributes.get("cache") == CacheModifier.CV:
        with e.frame.at(level) as b:
            b.fence_compiler()
    return _load(e, where, op.result.dtype, mask, other, level)


def _load(
    e: Values, where: Address, dtype: DType, mask: Lanes | None, other: Lanes | None, level: int
) -> Lanes:
    if where.contiguous or where.pointer.wide:
        return Lanes(_load_vector(e, where, dtype, mask, other, level), level, wide=True)
    if mask is None:
        with e.frame.at(level) as b:
            return Lanes(b.load(where.pointer.value, dtype), level, wide=False)
    if mask.wide or (other is not None and other.wide):
        return _load_same(e, where, dtype, mask, other, level)
    with e.frame.at(level) as b:
        value = other.value if other is not None else b.undefined(dtype)
        return Lanes(_load_if(e, where.pointer.value, dtype, mask.value, value), level, wide=False)


def _load_if(e: Values, pointer: ir.Value, dtype: DType, condition: ir.Value, other: ir.Value) -> ir.Value:
    b = e.frame.b
    branch, yes, no = b.branch(condition, [other.type])
    with b.inside(yes):
        b.yield_(b.load(pointer, dtype))
    with b.inside(no):
        b.yield_(other)
    return branch.result


def _load_same(
    e: Values, where: Address, dtype: DType, mask: Lanes, other: Lanes | None, level: int
) -> Lanes:
    """One address for all lanes, under a mask that differs: read once if any lane wants it."""
    width = e.frame.width
    wide_mask = e.frame.widen(mask)
    rest = e.frame.widen(other) if other is not None else e.frame.b.undefined(dtype, width)
    with e.frame.at(level) as b:
        wanted = b.op("llvm.intr.vector.reduce.or", b.type(I1), wide_mask)
        value = _load_if(e, where.pointer.value, dtype, wanted, b.undefined(dtype))
        return Lanes(b.select(wide_mask, b.splat(value, width), rest), level, wide=True)


def _load_vector(
    e: Values, where: Address, dtype: DType, mask: Lanes | None, other: Lanes | None, level: int
) -> ir.Value:
    width, pointer = e.frame.width, where.pointer.value
    wide_mask = e.frame.widen(mask) if mask is not None else None
    rest = e.frame.widen(other) if other is not None else None
    with e.frame.at(level) as b:
        if where.contiguous and wide_mask is None:
            return b.load(pointer, dtype, width)
        rest = rest if rest is not None else b.undefined(dtype, width)
        name = "llvm.intr.masked.load" if where.contiguous else "llvm.intr.masked.gather"
        wide_mask = wide_mask if wide_mask is not None else b.constant(1, I1, width)
        stored = b.to_storage(rest, dtype)
        alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), dtype.nbytes)
        loaded = b.op(name, stored.type, pointer, wide_mask, stored, alignment=alignment)
        return b.from_storage(loaded, dtype)


def fence(e: Values) -> None:
    """The compiler moves none of the kernel's accesses over this point of the innermost level of the nest."""
    with e.frame.at(len(e.frame.points) - 1) as b:
        b.fence_compiler()


def store(
    e: Values, where: Address, value: Lanes, mask: Lanes | None, dtype: DType, *, streams: bool = False
) -> None:
    """Store ``value`` of ``dtype``, where ``mask`` is true, at the innermost level of the nest.

    ``streams``: past the caches, if the launch writes more than they hold.
    """
    frame = e.frame
    level = len(frame.points) - 1
    if not frame.width:
        with frame.at(level) as b:
            _store_if(e, where.pointer.value, value.value, mask.value if mask is not None else None, dtype)
        return
    wide = frame.widen(value)
    wide_mask = frame.widen(mask) if mask is not None else None
    pointer = where.pointer.value
    if not where.contiguous:
        pointer = frame.widen(where.pointer)
    with frame.at(level) as b:
        if where.contiguous and wide_mask is None:
            _store_vector(e, pointer, wide, dtype, streams)
            return
        wide_mask = wide_mask if wide_mask is not None else b.constant(1, I1, frame.width)
        if where.contiguous:
            wide_mask = _of_unknown_lanes(e, wide_mask, dtype)
        name = "llvm.intr.masked.store" if where.contiguous else "llvm.intr.masked.scatter"
        alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), dtype.nbytes)
        b.effect(name, b.to_storage(wide, dtype), pointer, wide_mask, alignment=alignment)


def _of_unknown_lanes(e: Values, mask: ir.Value, dtype: DType) -> ir.Value:
    """``mask``, hidden from LLVM where it would store too much.

    For AVX-512, LLVM 22 makes of a truncation and a masked store with one lane that is known to be the only one a store
    of that lane before its truncation.  Any narrow integer may be a truncation in the end.
    """
    stored = storage_of(dtype)
    if not e.context.features.predicates or stored.is_float or stored.bits == 64:
        return mask
    return e.frame.b.same("arith.andi", mask, e.context.every_lane(e.frame.width))


def _store_vector(e: Values, pointer: ir.Value, value: ir.Value, dtype: DType, streams: bool) -> None:
    """One vector; one that goes past the caches has to be aligned and large."""
    b, nbytes = e.frame.b, e.frame.width * dtype.nbytes
    streaming = e.context.streaming
    if not streams or nbytes < _LEAST_STREAMED or streaming is None:
        b.store(pointer, value, dtype)
        return
    e.context.streams = True
    low = b.same("arith.andi", b.op("llvm.ptrtoint", b.type(I64), pointer), b.i64(nbytes - 1))
    aligned = b.cmp("eq", low, b.i64(0))
    _, yes, no = b.branch(b.same("arith.andi", aligned, streaming))
    with b.inside(yes):
        b.store(pointer, value, dtype, align=nbytes, streams=True)
        b.yield_()
    with b.inside(no):
        b.store(pointer, value, dtype)
        b.yield_()


def _store_if(e: Values, pointer: ir.Value, value: ir.Value, mask: ir.Value | None, dtype: DType) -> None:
    b = e.frame.b
    if mask is None:
        b.store(pointer, value, dtype)
        return
    _, yes, no = b.branch(mask)
    with b.inside(yes):
        b.store(pointer, value, dtype)
        b.yield_()
    with b.inside(no):
        b.yield_()


# --- the arena -------------------------------------------------------------------------------------------


def _view_address(
    e: Values, view: View, place: Place, replaced: tuple[int, Lanes] | None = None, level: int = 0
) -> Address:
    """The address of ``view`` at ``place``; ``replaced``: an index that is used instead of the place's."""
    offset = Linear(constant=view.offset)
    for d, (coordinate, stride) in enumerate(zip(place.coordinates, view.strides, strict=True)):
        if replaced is not None and d == replaced[0]:
            _add_index(e, offset, replaced[1], stride)
            continue
        offset.constant += coordinate.offset * stride
        if coordinate.loop >= 0:
            _add_index(e, offset, e.frame.index(coordinate._replace(offset=0)), stride)
        if d == place.lane:
            offset.stride += stride
    base = Lanes(e.context.base(view.buffer), level, wide=False)
    return _resolve(e, base, offset, view.buffer.dtype)


def _add_index(e: Values, offset: Linear, index: Lanes, stride: int) -> None:
    with e.frame.at(index.level) as b:
        value = b.convert_int(index.value, I64, signed=False)
        if stride != 1:
            value = b.same("arith.muli", value, b.constant(stride, I64, e.frame.width if index.wide else 0))
    scaled = Lanes(value, index.level, index.wide)
    if index.wide:
        offset.vector = scaled
    else:
        offset.parts.append(scaled)


def read_view(
    e: Values, view: View, place: Place, replaced: tuple[int, Lanes] | None = None, level: int = 0
) -> Lanes:
    """Contents of ``view`` at ``place``, read at ``level`` or further in."""
    where = _view_address(e, view, place, replaced, level)
    return _load(e, where, view.buffer.dtype, None, None, where.pointer.level)


def write_view(e: Values, view: View, place: Place, value: Lanes) -> None:
    """Write ``value`` to ``view`` at ``place``."""
    store(e, _view_address(e, view, place), value, None, view.buffer.dtype)
