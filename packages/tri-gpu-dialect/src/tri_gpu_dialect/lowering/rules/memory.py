"""Loads and stores of global memory."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects.tt import PointerType, StoreOp
from tri_core.dialects.tt.accesses import reads_again, writes_through
from tri_core.dialects.tt.enums import CacheModifier, EvictionPolicy, MemSemantic, MemSyncScope
from tri_core.ir.access_hints import plugin_hints
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.dialect.markers import OWNED
from tri_gpu_dialect.layouts import shared, vector_access
from tri_gpu_dialect.lowering.context import Lowered, Lowering, Registers
from tri_gpu_dialect.lowering.indices import is_owner
from tri_gpu_dialect.lowering.primitives import Access, AtomicAccess
from tri_gpu_dialect.lowering.table import Rule
from tri_gpu_dialect.lowering.words import bit_width, from_memory, memory_type, to_memory

__all__ = ["RULES", "both", "load_tensor", "owning_thread", "spread", "vectors_of", "with_copies"]


@dataclass(frozen=True)
class Vectors:
    """Vectorisation of an access by a tensor of pointers: registers of each vector, in order, and elements
    per vector.
    """

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

    cache, evict = CacheModifier(read("cache", 1)), EvictionPolicy(read("evict", 1))
    return Access(align, cache, evict, _is_volatile(op), plugin_hints(op))


def _is_volatile(op: ir.Operation) -> bool:
    """True if later compilers may neither cache the load nor drop the store."""
    return writes_through(op) if isa(op, StoreOp) else reads_again(op)


def load(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.load``."""
    view = op.opview
    return [load_tensor(ctx, op, view.ptr, view.mask, view.other)]


def load_tensor(
    ctx: Lowering,
    op: ir.Operation,
    pointers: ir.Value,
    mask: ir.Value | None,
    other: ir.Value | None,
    owner: ir.Value | None = None,
) -> Registers:
    """Values loaded from ``pointers``, predicated by ``owner`` if given; ``op`` has the attributes of the
    access.
    """
    b = ctx.b
    if OWNED in op.attributes:
        owner = both(ctx, owner, owning_thread(ctx, pointers.type))
    vectors = vectors_of(ctx, pointers, mask)
    held = ctx.storage(PointerType(ctx.element(pointers.type)).pointee_type)
    element = memory_type(b, held)
    access = _access(ctx, op, vectors.width * bit_width(element) // 8)
    addresses = ctx.registers(pointers)
    masks = None if mask is None else spread(ctx.registers(mask), len(addresses))
    others = None if other is None else spread(ctx.registers(other), len(addresses))
    loaded: dict[int, ir.Value] = {}
    for group in vectors.groups:
        predicate = both(ctx, owner, None if masks is None else masks[group[0]])
        missing = None if others is None else b.pack([to_memory(b, others[r]) for r in group])
        type_ = b.vector_type(element, vectors.width)
        vector = ctx.hw.load_global(b, addresses[group[0]], type_, predicate, missing, access)
        loaded |= zip(group, (from_memory(b, v, held) for v in b.unpack(vector)), strict=True)
    return with_copies(ctx, loaded, pointers.type)


def spread(values: Registers, count: int) -> Registers:
    """A scalar as ``count`` registers; a tensor's registers as they are."""
    return values * count if len(values) == 1 else values


def with_copies(ctx: Lowering, found: dict[int, ir.Value], type_: ir.Type) -> Registers:
    """A value for every register: those that are in no vector repeat another."""
    if not isinstance(type_, ir.RankedTensorType):
        return [found[0]]
    images = ctx.layout(type_).images("register")
    by_image = {images[register]: value for register, value in found.items()}
    return [by_image[image] for image in images]


def store(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.store``: of the threads that hold an element, the first writes it.

    A single word that is written through is what another program waits for: what this one stored before, behind a barrier by whichever
    thread, is seen before it.  No hardware says so without a fence: stores to other places may arrive later.
    """
    view, b = op.opview, ctx.b
    if writes_through(op) and not isinstance(view.ptr.type, ir.RankedTensorType):
        ctx.hw.fence(b, AtomicAccess(MemSemantic.RELEASE, MemSyncScope.SYSTEM))
    vectors = vectors_of(ctx, view.ptr, view.mask)
    addresses, values = ctx.registers(view.ptr), ctx.registers(view.value)
    masks = None if view.mask is None else spread(ctx.registers(view.mask), len(addresses))
    element = memory_type(b, values[0].type)
    access = _access(ctx, op, vectors.width * bit_width(element) // 8)
    owner = owning_thread(ctx, view.ptr.type)
    for group in vectors.groups:
        predicate = both(ctx, owner, None if masks is None else masks[group[0]])
        vector = b.pack([to_memory(b, values[r]) for r in group])
        ctx.hw.store_global(b, addresses[group[0]], vector, predicate, access)
    return []


def owning_thread(ctx: Lowering, type_: ir.Type) -> ir.Value | None:
    """True (i1) if this thread is the one that writes the elements it holds; None if every thread is."""
    if isinstance(type_, ir.RankedTensorType):
        return is_owner(ctx, ctx.layout(type_))
    first = ctx.b.cmp("eq", ctx.thread, ctx.b.int_(0))
    if ctx.hw.num_ctas == 1:
        return first
    return ctx.b.and_(first, ctx.b.cmp("eq", ctx.block_id(), ctx.b.int_(0)))


def both(ctx: Lowering, left: ir.Value | None, right: ir.Value | None) -> ir.Value | None:
    """Two conditions at once; None is no condition."""
    if left is None or right is None:
        return right if left is None else left
    return ctx.b.and_(left, right)


RULES: dict[str, Rule] = {"tt.load": load, "tt.store": store}
