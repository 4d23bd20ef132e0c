"""Atomics of global memory: once per element, whatever copies of it threads hold.

A tile's atomics are relaxed, and ordered as a whole: a release fence before the first, an acquire fence behind the last
(:func:`_ordered`).  That is at least the order that each of them would have on its own: a relaxed atomic behind a release
fence of its thread releases what the fence covers, one before an acquire fence acquires for all behind the fence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from tri_core.dialects.tt.enums import AtomicOp, MemSemantic, MemSyncScope
from tri_core.mlir import ir
from tri_core.passes.origins import splat_integer
from tri_gpu_dialect.layouts import BLOCK
from tri_gpu_dialect.lowering.context import Lowered, Lowering, Registers
from tri_gpu_dialect.lowering.indices import coordinates, linear_indices
from tri_gpu_dialect.lowering.primitives import AtomicAccess
from tri_gpu_dialect.lowering.rules.memory import both, owning_thread, spread, with_copies
from tri_gpu_dialect.lowering.rules.swap_loops import compare_and_swap, modify
from tri_gpu_dialect.lowering.rules.vector_atomics import modify_group, vector_groups
from tri_gpu_dialect.lowering.table import Rule
from tri_gpu_dialect.lowering.words import bit_width, from_memory, is_pointer, memory_type, to_memory

__all__ = ["RULES", "reported"]


def _atomic_access(op: ir.Operation) -> AtomicAccess:
    sem, scope = (ir.IntegerAttr(op.attributes[name]).value for name in ("sem", "scope"))
    return AtomicAccess(MemSemantic(sem), MemSyncScope(scope))


@contextmanager
def _ordered(ctx: Lowering, type_: ir.Type, access: AtomicAccess) -> Iterator[AtomicAccess]:
    """Between the fences of a tile's atomics, which are relaxed; a scalar is one atomic, which has its order itself.

    Old values that nobody reads make no difference: another thread may learn the order of two atomics in other ways, so
    the acquire stays.
    """
    if not isinstance(type_, ir.RankedTensorType):
        yield access
        return
    _fence(ctx, access, MemSemantic.RELEASE)
    yield replace(access, sem=MemSemantic.RELAXED)
    _fence(ctx, access, MemSemantic.ACQUIRE)


def _fence(ctx: Lowering, access: AtomicAccess, side: MemSemantic) -> None:
    """A fence of the scope of ``access`` where that has ``side``: release or acquire."""
    if access.sem in (side, MemSemantic.ACQUIRE_RELEASE):
        ctx.hw.fence(ctx.b, replace(access, sem=side))


def _enter(ctx: Lowering, type_: ir.Type, access: AtomicAccess) -> None:
    """A scalar release orders the whole program's writes before it, not one thread's."""
    releases = access.sem in (MemSemantic.RELEASE, MemSemantic.ACQUIRE_RELEASE)
    if releases and not isinstance(type_, ir.RankedTensorType):
        ctx.cluster_barrier()


def atomic_rmw(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.atomic_rmw``: once per element, whatever copies there are."""
    view = op.opview
    kind = AtomicOp(ir.IntegerAttr(op.attributes["atomic_rmw_op"]).value)
    element = ctx.element(view.val.type)
    access = _atomic_access(op)
    if access.sem in (MemSemantic.RELAXED, MemSemantic.ACQUIRE) and _keeps(kind, view.val, element):
        return [_loaded(ctx, op, view.ptr, view.mask, access)]
    _enter(ctx, view.ptr.type, access)
    addresses, values = ctx.registers(view.ptr), ctx.registers(view.val)
    masks = None if view.mask is None else spread(ctx.registers(view.mask), len(addresses))
    owner = owning_thread(ctx, view.ptr.type)
    is_read = _is_read(op)
    old: dict[int, ir.Value] = {}
    with _ordered(ctx, view.ptr.type, access) as each:
        for group in vector_groups(ctx, kind, element, view.ptr, view.mask):
            predicate = both(ctx, owner, None if masks is None else masks[group[0]])
            new = [values[r] for r in group]
            found = modify_group(ctx, kind, addresses[group[0]], new, element, predicate, each)
            # taken apart, what an instruction gives would count as read
            old.update(zip(group, found if is_read else new, strict=True))
    return [reported(ctx, op, old, view.ptr.type, owner)]


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
    with _ordered(ctx, view.ptr.type, access) as each:
        for (register,) in _single(ctx, view.ptr):
            compare, value = (b.bitcast(v[register], bits) for v in (compares, values))
            found = compare_and_swap(ctx, addresses[register], compare, value, owner, each)
            old[register] = b.bitcast(found, type_)
    return [reported(ctx, op, old, view.ptr.type, owner)]


def _is_read(op: ir.Operation) -> bool:
    """True if the result of ``op`` has a use."""
    return next(iter(op.results[0].uses), None) is not None


def _single(ctx: Lowering, pointers: ir.Value) -> Sequence[tuple[int]]:
    """Registers one by one, without copies."""
    if not isinstance(pointers.type, ir.RankedTensorType):
        return [(0,)]
    first: dict[int, int] = {}
    for register, image in enumerate(ctx.layout(pointers.type).images("register")):
        first.setdefault(image, register)
    return [(register,) for register in first.values()]


def reported(
    ctx: Lowering, op: ir.Operation, old: dict[int, ir.Value], type_: ir.Type, owner: ir.Value | None
) -> Registers:
    """Old values, for all threads that hold the element: the owner tells the others through memory."""
    if owner is None or not _is_read(op):
        return with_copies(ctx, old, type_)
    b, base = ctx.b, ctx.scratch(op)
    tensor = isinstance(type_, ir.RankedTensorType)
    indices = linear_indices(ctx, type_) if tensor else [b.int_(0)]
    held = next(iter(old.values())).type
    element = memory_type(b, held)
    align = bit_width(element) // 8
    addresses = {r: b.gep(base, indices[r], element) for r in old}
    for register, value in old.items():
        ctx.hw.store_shared(b, addresses[register], to_memory(b, value), owner, align)
    if _differs_by_block(ctx, type_):
        return with_copies(ctx, _from_owners(ctx, addresses, element, held, type_), type_)
    ctx.barrier()
    stored = {
        r: from_memory(b, ctx.hw.load_shared(b, a, element, None, align), held) for r, a in addresses.items()
    }
    return with_copies(ctx, stored, type_)


def _differs_by_block(ctx: Lowering, type_: ir.Type) -> bool:
    """True if several blocks of the cluster hold an element."""
    if not isinstance(type_, ir.RankedTensorType):
        return ctx.hw.num_ctas > 1
    return bool(ctx.layout(type_).free_variable_masks().get(BLOCK))


def _from_owners(
    ctx: Lowering, addresses: dict[int, ir.Value], element: ir.Type, held: ir.Type, type_: ir.Type
) -> dict[int, ir.Value]:
    """Values that the owners of elements have stored at ``addresses``, each in the memory of its own block."""
    b, align = ctx.b, bit_width(element) // 8
    ranks = {r: b.int_(0) for r in addresses}
    if isinstance(type_, ir.RankedTensorType):
        layout = ctx.layout(type_)
        owners = layout.compose(layout.pseudo_invert()).sublayout(layout.in_dims, [BLOCK])
        rows = coordinates(ctx, owners)
        ranks = {r: rows[r][0] for r in addresses}
    ctx.cluster_barrier()
    got = {r: ctx.hw.load_peer(b, a, ranks[r], element, align) for r, a in addresses.items()}
    ctx.cluster_barrier()  # others have read what is here
    return {r: from_memory(b, value, held) for r, value in got.items()}


def _keeps(kind: AtomicOp, value: ir.Value, element: ir.Type) -> bool:
    """True if ``kind`` with ``value`` leaves every integer unchanged.

    Without a release it is then a load: whoever might read what it writes reads the same from before it.  With one it
    stays: others acquire from it.
    """
    constant = splat_integer(value)
    if constant is None:
        return False
    match kind:
        case AtomicOp.ADD | AtomicOp.OR | AtomicOp.XOR | AtomicOp.UMAX:
            return constant == 0
        case AtomicOp.AND | AtomicOp.UMIN:
            return constant == -1
        case AtomicOp.MAX:
            return constant == -(1 << element.width - 1)
        case AtomicOp.MIN:
            return constant == (1 << element.width - 1) - 1
    return False


def _loaded(
    ctx: Lowering, op: ir.Operation, pointers: ir.Value, mask: ir.Value | None, access: AtomicAccess
) -> Registers:
    """Elements as they are, each read by one thread, so that all that hold it have the same."""
    b, held = ctx.b, ctx.storage(op.results[0].type)
    bits = b.i64 if is_pointer(held) else b.int_type(held.width)
    addresses = ctx.registers(pointers)
    masks = None if mask is None else spread(ctx.registers(mask), len(addresses))
    owner = owning_thread(ctx, pointers.type)
    found: dict[int, ir.Value] = {}
    with _ordered(ctx, pointers.type, access) as each:
        for (register,) in _single(ctx, pointers):
            predicate = both(ctx, owner, None if masks is None else masks[register])
            got = _read(ctx, addresses[register], bits, predicate, each)
            found[register] = from_memory(b, got, held) if is_pointer(held) else b.bitcast(got, held)
    return reported(ctx, op, found, pointers.type, owner)


def _read(
    ctx: Lowering, address: ir.Value, bits: ir.Type, predicate: ir.Value | None, access: AtomicAccess
) -> ir.Value:
    """An atomic load; where the hardware has none so narrow, a change that changes nothing."""
    if ctx.hw.has_atomic_load(bits.width):
        return ctx.hw.atomic_load(ctx.b, address, bits, predicate, access)
    return modify(ctx, AtomicOp.OR, address, ctx.b.const(bits, 0), bits, predicate, access)


def atomic_load(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.atomic_load``."""
    view = op.opview
    return [_loaded(ctx, op, view.ptr, view.mask, _atomic_access(op))]


def atomic_store(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.atomic_store``: an exchange whose old value nobody reads."""
    view, b = op.opview, ctx.b
    access = _atomic_access(op)
    _enter(ctx, view.ptr.type, access)
    addresses, values = ctx.registers(view.ptr), ctx.registers(view.val)
    masks = None if view.mask is None else spread(ctx.registers(view.mask), len(addresses))
    owner = owning_thread(ctx, view.ptr.type)
    with _ordered(ctx, view.ptr.type, access) as each:
        for (register,) in _single(ctx, view.ptr):
            predicate = both(ctx, owner, None if masks is None else masks[register])
            value = to_memory(b, values[register])
            bits = b.bitcast(value, b.int_type(bit_width(value.type)))
            modify(ctx, AtomicOp.XCHG, addresses[register], bits, bits.type, predicate, each)
    return []


def atomic_poll(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.atomic_poll``: each element is read until it is as expected, or the time is over."""
    view, b = op.opview, ctx.b
    access = _atomic_access(op)
    deadline = None
    if view.timeout_ns is not None:
        deadline = b.add(ctx.hw.nanoseconds(b), b.int_cast(ctx.scalar(view.timeout_ns), b.i64))
    addresses, expected = ctx.registers(view.ptr), ctx.registers(view.expected)
    owner = owning_thread(ctx, view.ptr.type)
    found: dict[int, ir.Value] = {}
    with _ordered(ctx, view.ptr.type, access) as each:
        for (register,) in _single(ctx, view.ptr):
            wait = _waiter(ctx, addresses[register], expected[register], each, deadline)
            found[register] = wait()[0] if owner is None else b.if_(owner, wait, None, [b.i1])[0]
    result = reported(ctx, op, found, view.ptr.type, owner)
    if not isinstance(view.ptr.type, ir.RankedTensorType) and not _is_read(op):
        ctx.cluster_barrier()  # one thread waits for all
    return [result]


def _waiter(
    ctx: Lowering,
    address: ir.Value,
    expected: ir.Value,
    access: AtomicAccess,
    deadline: ir.Value | None,
) -> Callable[[], list[ir.Value]]:
    """Emits a loop that gives whether ``expected`` was read at ``address`` before ``deadline`` (ns).

    What it waits with is relaxed; a fence behind it acquires.
    """
    b, relaxed = ctx.b, replace(access, sem=MemSemantic.RELAXED)

    def look(_: Sequence[ir.Value]) -> tuple[ir.Value, list[ir.Value]]:
        got = _read(ctx, address, expected.type, None, relaxed)
        there = b.cmp("eq", got, expected)
        going = b.not_(there)
        if deadline is not None:
            going = b.and_(going, b.cmp("ult", ctx.hw.nanoseconds(b), deadline))
        return going, [there]

    def wait() -> list[ir.Value]:
        found = b.do_while([], look, [b.i1])
        _fence(ctx, access, MemSemantic.ACQUIRE)
        return found

    return wait


RULES: dict[str, Rule] = {
    "tt.atomic_rmw": atomic_rmw,
    "tt.atomic_cas": atomic_cas,
    "tt.atomic_load": atomic_load,
    "tt.atomic_store": atomic_store,
    "tt.atomic_poll": atomic_poll,
}
