"""Loads, stores and atomics of global memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tri_core.dialects.tt import PointerType
from tri_core.dialects.tt.enums import AtomicOp, CacheModifier, EvictionPolicy, MemSemantic, MemSyncScope
from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.layouts import shared, vector_access
from tri_gpu_dialect.lowering.context import Lowered, Lowering, Registers
from tri_gpu_dialect.lowering.indices import is_owner, linear_indices
from tri_gpu_dialect.lowering.primitives import Access, AtomicAccess
from tri_gpu_dialect.lowering.rules.floats import is_emulated
from tri_gpu_dialect.lowering.table import Rule
from tri_gpu_dialect.lowering.words import bit_width, from_memory, is_pointer, memory_type, to_memory
from tri_gpu_dialect.plans.attributes import flag

__all__ = ["RULES", "load_tensor", "vectors_of"]


@dataclass(frozen=True)
class Vectors:
    """How a tensor of pointers is accessed: registers of each vector, in order, and elements per vector."""

    groups: tuple[tuple[int, ...], ...]
    width: int


def vectors_of(ctx: Lowering, pointers: ir.Value, mask: ir.Value | None) -> Vectors:
    """The widest vectors for ``pointers``: contiguous, aligned, under one mask, in registers of one thread."""
    type_ = pointers.type
    if not isinstance(type_, ir.RankedTensorType):
        return Vectors(((0,),), 1)
    layout = ctx.layout(type_)
    most = ctx.target.spec.max_vector_bits // pointee_bits(ctx, type_)
    shape = list(type_.shape)
    best: Vectors | None = None
    for dim in range(len(shape)):
        width = min(ctx.axes.contiguous(pointers, dim), max(most, 1))
        if mask is not None:
            width = min(width, ctx.axes.constant_run(mask, dim))
        if best is None or width > best.width:
            order = [dim, *(d for d in reversed(range(len(shape))) if d != dim)]
            access = vector_access(layout, shared.row_major(shape, order), width)
            if best is None or access.width > best.width:
                best = Vectors(access.groups, access.width)
    return best or Vectors(((0,),), 1)


def pointee_bits(ctx: Lowering, type_: ir.Type) -> int:
    """Bits in memory of what a (tensor of) pointers points to."""
    pointee = PointerType(ctx.element(type_)).pointee_type
    return max(bit_width(ctx.storage(pointee)), 8)


def _access(ctx: Lowering, op: ir.Operation, align: int) -> Access:
    def read(name: str, default: int) -> int:
        return ir.IntegerAttr(op.attributes[name]).value if name in op.attributes else default

    volatile = flag(op, "isVolatile")
    return Access(align, CacheModifier(read("cache", 1)), EvictionPolicy(read("evict", 1)), volatile)


def load(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.load``."""
    view = op.opview
    return [load_tensor(ctx, op, view.ptr, view.mask, view.other)]


def load_tensor(
    ctx: Lowering, op: ir.Operation, pointers: ir.Value, mask: ir.Value | None, other: ir.Value | None
) -> Registers:
    """What ``pointers`` point to; ``op`` has the attributes of the access."""
    b = ctx.b
    vectors = vectors_of(ctx, pointers, mask)
    held = ctx.storage(PointerType(ctx.element(pointers.type)).pointee_type)
    element = memory_type(b, held)
    access = _access(ctx, op, vectors.width * bit_width(element) // 8)
    addresses = ctx.registers(pointers)
    masks = None if mask is None else _spread(ctx.registers(mask), len(addresses))
    others = None if other is None else _spread(ctx.registers(other), len(addresses))
    loaded: dict[int, ir.Value] = {}
    for group in vectors.groups:
        predicate = None if masks is None else masks[group[0]]
        missing = None if others is None else b.pack([to_memory(b, others[r]) for r in group])
        type_ = b.vector_type(element, vectors.width)
        vector = ctx.hw.load_global(b, addresses[group[0]], type_, predicate, missing, access)
        loaded |= zip(group, (from_memory(b, v, held) for v in b.unpack(vector)), strict=True)
    return _with_copies(ctx, loaded, pointers.type)


def _spread(values: Registers, count: int) -> Registers:
    return values * count if len(values) == 1 else values


def _with_copies(ctx: Lowering, found: dict[int, ir.Value], type_: ir.Type) -> Registers:
    """A value for every register: those that are in no vector repeat another."""
    if not isinstance(type_, ir.RankedTensorType):
        return [found[0]]
    images = ctx.layout(type_).images("register")
    by_image = {images[register]: value for register, value in found.items()}
    return [by_image[image] for image in images]


def store(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.store``: of the threads that hold an element, the first writes it."""
    view, b = op.opview, ctx.b
    vectors = vectors_of(ctx, view.ptr, view.mask)
    addresses, values = ctx.registers(view.ptr), ctx.registers(view.value)
    masks = None if view.mask is None else _spread(ctx.registers(view.mask), len(addresses))
    element = memory_type(b, values[0].type)
    access = _access(ctx, op, vectors.width * bit_width(element) // 8)
    owner = owning_thread(ctx, view.ptr.type)
    for group in vectors.groups:
        predicate = _both(ctx, owner, None if masks is None else masks[group[0]])
        vector = b.pack([to_memory(b, values[r]) for r in group])
        ctx.hw.store_global(b, addresses[group[0]], vector, predicate, access)
    return []


def owning_thread(ctx: Lowering, type_: ir.Type) -> ir.Value | None:
    """Whether this thread is the one to write what it holds; None: every thread is."""
    if isinstance(type_, ir.RankedTensorType):
        return is_owner(ctx, ctx.layout(type_))
    return ctx.b.cmp("eq", ctx.thread, ctx.b.int_(0))


def _both(ctx: Lowering, left: ir.Value | None, right: ir.Value | None) -> ir.Value | None:
    if left is None or right is None:
        return right if left is None else left
    return ctx.b.and_(left, right)


# --- atomics ----------------------------------------------------------------------------------------------


def _atomic_access(op: ir.Operation) -> AtomicAccess:
    sem, scope = (ir.IntegerAttr(op.attributes[name]).value for name in ("sem", "scope"))
    return AtomicAccess(MemSemantic(sem), MemSyncScope(scope))


def _enter(ctx: Lowering, type_: ir.Type, access: AtomicAccess) -> None:
    """A scalar release orders the whole block's writes before it, not one thread's."""
    releases = access.sem in (MemSemantic.RELEASE, MemSemantic.ACQUIRE_RELEASE)
    if releases and not isinstance(type_, ir.RankedTensorType):
        ctx.hw.barrier(ctx.b)


def atomic_rmw(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.atomic_rmw``: once per element, whatever copies there are."""
    view = op.opview
    kind = AtomicOp(ir.IntegerAttr(op.attributes["atomic_rmw_op"]).value)
    element = ctx.element(view.val.type)
    if is_emulated(ctx, element):
        raise Unsupported(f"{ctx.target} has no atomics of {element}", remedy="use f32")
    access = _atomic_access(op)
    _enter(ctx, view.ptr.type, access)
    addresses, values = ctx.registers(view.ptr), ctx.registers(view.val)
    masks = None if view.mask is None else _spread(ctx.registers(view.mask), len(addresses))
    owner = owning_thread(ctx, view.ptr.type)
    old: dict[int, ir.Value] = {}
    for (register,) in _single(ctx, view.ptr):
        predicate = _both(ctx, owner, None if masks is None else masks[register])
        old[register] = ctx.hw.atomic_rmw(
            ctx.b, kind, addresses[register], values[register], predicate, access
        )
    return [_told(ctx, op, old, view.ptr.type, owner)]


def atomic_cas(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.atomic_cas``: floats are compared by their bits."""
    view, b = op.opview, ctx.b
    access = _atomic_access(op)
    _enter(ctx, view.ptr.type, access)
    addresses, compares, values = (ctx.registers(v) for v in (view.ptr, view.cmp, view.val))
    type_ = values[0].type
    bits = type_ if is_pointer(type_) else b.int_type(type_.width)
    owner = owning_thread(ctx, view.ptr.type)
    old: dict[int, ir.Value] = {}
    for (register,) in _single(ctx, view.ptr):
        compare, value = (b.bitcast(v[register], bits) for v in (compares, values))
        found = ctx.hw.atomic_cas(b, addresses[register], compare, value, owner, access)
        old[register] = b.bitcast(found, type_)
    return [_told(ctx, op, old, view.ptr.type, owner)]


def _single(ctx: Lowering, pointers: ir.Value) -> Sequence[tuple[int]]:
    """Registers one by one, without copies."""
    if not isinstance(pointers.type, ir.RankedTensorType):
        return [(0,)]
    first: dict[int, int] = {}
    for register, image in enumerate(ctx.layout(pointers.type).images("register")):
        first.setdefault(image, register)
    return [(register,) for register in first.values()]


def _told(
    ctx: Lowering, op: ir.Operation, old: dict[int, ir.Value], type_: ir.Type, owner: ir.Value | None
) -> Registers:
    """Old values, for all threads that hold the element: the owner tells the others through memory."""
    if owner is None or next(iter(op.results[0].uses), None) is None:
        return _with_copies(ctx, old, type_)
    b, base = ctx.b, ctx.scratch(op)
    tensor = isinstance(type_, ir.RankedTensorType)
    indices = linear_indices(ctx, type_) if tensor else [b.int_(0)]
    held = next(iter(old.values())).type
    element = memory_type(b, held)
    align = bit_width(element) // 8
    addresses = {r: b.gep(base, indices[r], element) for r in old}
    for register, value in old.items():
        ctx.hw.store_shared(b, addresses[register], to_memory(b, value), owner, align)
    ctx.hw.barrier(b)
    told = {
        r: from_memory(b, ctx.hw.load_shared(b, a, element, None, align), held) for r, a in addresses.items()
    }
    return _with_copies(ctx, told, type_)


def atomic_load(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.atomic_load``: adding zero reads in order on every target."""
    view, b = op.opview, ctx.b
    access = _atomic_access(op)
    held = ctx.storage(op.results[0].type)
    bits = b.i64 if is_pointer(held) else b.int_type(held.width)
    addresses = ctx.registers(view.ptr)
    masks = None if view.mask is None else _spread(ctx.registers(view.mask), len(addresses))
    found: dict[int, ir.Value] = {}
    for (register,) in _single(ctx, view.ptr):
        predicate = None if masks is None else masks[register]
        zero = b.const(bits, 0)
        got = ctx.hw.atomic_rmw(b, AtomicOp.OR, addresses[register], zero, predicate, access)
        found[register] = from_memory(b, got, held) if is_pointer(held) else b.bitcast(got, held)
    return [_with_copies(ctx, found, view.ptr.type)]


def atomic_store(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.atomic_store``: an exchange whose old value nobody reads."""
    view, b = op.opview, ctx.b
    access = _atomic_access(op)
    _enter(ctx, view.ptr.type, access)
    addresses, values = ctx.registers(view.ptr), ctx.registers(view.val)
    masks = None if view.mask is None else _spread(ctx.registers(view.mask), len(addresses))
    owner = owning_thread(ctx, view.ptr.type)
    for (register,) in _single(ctx, view.ptr):
        predicate = _both(ctx, owner, None if masks is None else masks[register])
        value = to_memory(b, values[register])
        bits = b.bitcast(value, b.int_type(bit_width(value.type)))
        ctx.hw.atomic_rmw(b, AtomicOp.XCHG, addresses[register], bits, predicate, access)
    return []


RULES: dict[str, Rule] = {
    "tt.load": load,
    "tt.store": store,
    "tt.atomic_rmw": atomic_rmw,
    "tt.atomic_cas": atomic_cas,
    "tt.atomic_load": atomic_load,
    "tt.atomic_store": atomic_store,
}
