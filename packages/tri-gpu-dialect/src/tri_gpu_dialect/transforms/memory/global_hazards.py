"""Barriers for accesses of global memory: a program reads back what it wrote, and a thread is ordered with
its own accesses alone.

Threads that access the same address are different ones where an element has one place in the tensor that is stored and another in the
tensor that is loaded, by layout or by index, and where several threads load an element that one of them stores.  Then a barrier for global
memory stands between; one that other memory needs there anyway is made one for both.  No barrier stands between

* accesses in the same layout, of which each thread has elements of its own, or which the first that holds an element does (stores, and loads
  of what such stores alone come of: :mod:`tri_gpu_dialect.analysis.owned_loads`), by the same pointers (computed from the same values, in one
  iteration or from nothing that iterations change), or of tiles of one grid (:mod:`tri_gpu_dialect.analysis.tile_addresses`);
* accesses of different roots (:func:`tri_core.passes.origins.arguments_of`), and of words beside each other;
* atomics of one kind whose results nobody uses: their order makes no difference.

Copies of blocks that run on their own (by descriptors) see what threads wrote behind a fence and a barrier, and what they wrote is seen
behind a wait until they are done and a barrier; that goes for copies to a tensor and later ones from it, too.

Threads of a program may leave a loop at different times, and go different ways, where the decision is a value that other programs write:
each thread reads it by itself.  So what lies before a loop waits before it, never in it, and before a branch that such a value decides.

Kernels that read nothing back, nearly all, are left after one look at their accesses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import NamedTuple

from tri_core.dialects.tt import PointerType
from tri_core.dialects.tt.enums import AtomicOp
from tri_core.ir.access import Access, access_of
from tri_core.ir.effects import (
    ASYNC,
    READ_DESCRIBED,
    READ_GLOBAL,
    WRITE_DESCRIBED,
    WRITE_GLOBAL,
    effects_of,
)
from tri_core.ir.regions import Edge, deciding_operands, is_control, is_loop, region_blocks
from tri_core.ir.traits import is_pure
from tri_core.ir.views import defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes.origins import arguments_of
from tri_gpu_dialect.analysis.owned_loads import is_owned
from tri_gpu_dialect.analysis.tile_addresses import TileAddress, never_meet, same_places
from tri_gpu_dialect.base import AsyncTokenType
from tri_gpu_dialect.dialect import AsyncStoreWaitOp, AsyncWaitOp, BarrierOp
from tri_gpu_dialect.dialect.markers import OWNED, PERSISTENT
from tri_gpu_dialect.edit import (
    GLOBAL,
    SHARED,
    all_ops,
    barrier,
    copies_to_shared,
    i32_attribute,
    is_barrier,
    make,
    unconverted,
)
from tri_gpu_dialect.layouts import BLOCK, LANE, WARP, LinearLayout
from tri_gpu_dialect.layouts.encoding import layout_for
from tri_gpu_dialect.transforms.memory.paths import PathWalk
from tri_gpu_dialect.types import tensor_info

__all__ = ["GlobalWalk"]

_READS, _WRITES = frozenset({READ_GLOBAL, READ_DESCRIBED}), frozenset({WRITE_GLOBAL, WRITE_DESCRIBED})
#: values that two addresses are compared by at most
_MOST = 256
#: what an access has passed since: nothing that could order it; a wait for it as well must come
_NOTHING, _UNDER_WAY = -1, -2
#: as the last, of a copy to a descriptor
_LEAVING = -3
_NOT_DONE = frozenset({_UNDER_WAY, _LEAVING})


@dataclass(frozen=True)
class _Site:
    """An access: its ``op``, what it may overlap, and which threads do it."""

    op: ir.Operation
    access: Access
    roots: frozenset[ir.Value] | None
    reads: bool
    writes: bool
    is_block_copy: bool = False

    @property
    def by_copies(self) -> bool:
        """True if all threads that hold an element access it; else only the first does."""
        return not self.writes and OWNED not in self.op.attributes

    def may_overlap(self, other: _Site) -> bool:
        """True if both may access the same bytes, one of them writing."""
        if not (self.writes or other.writes) or (
            self.is_block_copy and other.is_block_copy and self.writes == other.writes
        ):
            return False
        return self.roots is None or other.roots is None or not self.roots.isdisjoint(other.roots)

    def commutes(self, other: _Site) -> bool:
        """True if both are atomics whose order does not matter."""
        kinds = [_kind(site.op) for site in (self, other)]
        return kinds[0] is not None and kinds[0] == kinds[1] and not (_is_used(self.op) or _is_used(other.op))

    def is_like(self, other: _Site) -> bool:
        """True if both are the same kind of access to the same memory, at whatever offsets."""
        one, two = (
            (s.roots, s.reads, s.writes, s.is_block_copy, _kind(s.op), _is_used(s.op)) for s in (self, other)
        )
        return one == two

    @property
    def type(self) -> ir.Type:
        """Of the tensor that says where elements are: pointers, offsets or what is accessed; of the pointer, of a scalar."""
        values = [*self.place, self.access.value]
        return next((v.type for v in values if tensor_info(v.type) is not None), values[0].type)

    @property
    def is_word(self) -> bool:
        """True of one word that a scalar pointer names."""
        pointer = self.access.address.type
        return (
            isinstance(pointer, PointerType)
            and not self.access.offsets
            and self.access.value.type == pointer.pointee_type
        )

    @property
    def layout(self) -> LinearLayout | None:
        """Layout of the tensor that is accessed; None for a scalar, or a tensor not in registers."""
        info = tensor_info(self.type)
        return None if info is None or info.encoding is None else layout_for(info.encoding, info.shape)

    @property
    def place(self) -> list[ir.Value]:
        """The values that say where it accesses memory."""
        return [self.access.address, *self.access.offsets]


def _kind(op: ir.Operation) -> AtomicOp | None:
    given = op.attributes.get("atomic_rmw_op", None)
    kind = None if given is None else AtomicOp(ir.IntegerAttr(given).value)
    return None if kind is AtomicOp.XCHG else kind


def _is_used(op: ir.Operation) -> bool:
    return any(next(iter(result.uses), None) is not None for result in op.results)


class _Pending(NamedTuple):
    """Access ``site``, with the loops that have gone on to another iteration since, and the last barrier since."""

    site: int
    loops: frozenset[int]
    passed: int


State = frozenset[_Pending]


@dataclass
class GlobalWalk(PathWalk[State]):
    """Goes through a function with accesses that overlap, and puts barriers in."""

    sites: list[_Site]
    numbers: dict[ir.Operation, int] = field(default_factory=dict)
    loops: list[ir.Operation] = field(default_factory=list)
    barriers: list[ir.Operation] = field(default_factory=list)
    addresses: TileAddress = field(default_factory=TileAddress)
    #: accesses that stand for those like them, by block
    models: dict[ir.Block, list[int]] = field(default_factory=dict)

    @classmethod
    def through(cls, function: ir.Operation) -> None:
        """Insert ``ttg.barrier`` ops for global memory into ``function``, whose barriers for shared memory are in."""
        sites = _overlapping(_sites(function))
        if not sites:
            return
        for site in sites:
            if not site.writes and _has_copies(site.layout) and is_owned(site.op):
                site.op.attributes[OWNED] = ir.UnitAttr.get()
        walk = cls(sites, {site.op: number for number, site in enumerate(sites)})
        for block in function.regions[0].blocks:
            walk.block(block, walk.nothing())

    def nothing(self) -> State:
        """No access is pending."""
        return frozenset()

    def op(self, op: ir.Operation, pending: State) -> State:
        """See :class:`PathWalk`."""
        if isa(op, BarrierOp):
            return self._barrier(op, pending)
        if isa(op, AsyncStoreWaitOp):
            return _done(pending, _LEAVING) if "complete" in op.attributes else pending
        if isa(op, AsyncWaitOp):
            if ir.IntegerAttr(op.attributes["num"]).value:
                return pending
            return _done(pending, _UNDER_WAY)
        number = self.numbers.get(op)
        if number is None:
            return pending
        pending = self._ordered(op, [p for p in pending if self._conflicts(p, self.sites[number])], pending)
        site = self.sites[number]
        if site.is_block_copy:
            passed = _LEAVING if site.writes else _NOTHING
        else:
            passed = _UNDER_WAY if copies_to_shared(op) else _NOTHING
        return pending | {_Pending(self._model(number), frozenset(), passed)}

    def _model(self, number: int) -> int:
        """The first access of the block that whatever follows waits for as it does for access ``number``: what is pending stays short."""
        site = self.sites[number]
        models = self.models.setdefault(site.op.block, [])
        for model in models:
            first = self.sites[model]
            if first.is_like(site) and self._by_same_threads(first, site, frozenset()):
                return model
        models.append(number)
        return number

    def _barrier(self, op: ir.Operation, pending: State) -> State:
        left = frozenset(p for p in pending if p.passed in _NOT_DONE)
        if is_barrier(op, GLOBAL):
            return left
        number = _number(self.barriers, op)
        return left | {p._replace(passed=number) for p in pending - left}

    def _ordered(self, op: ir.Operation, conflicts: list[_Pending], pending: State) -> State:
        """Put what ``op`` needs before it; gives what is pending then."""
        passed = {p.passed for p in conflicts}
        if not passed:
            return pending
        if _UNDER_WAY in passed:
            with ir.InsertionPoint(op), op.location:
                make("ttg.async_wait", (), AsyncTokenType.get(), num=i32_attribute(0))
        if passed & {_NOTHING, *_NOT_DONE}:
            self._tell_copies(op)
            barrier(ir.InsertionPoint(op), op.location, GLOBAL)
            left = {_UNDER_WAY} - passed if self.has_copies else _NOT_DONE - passed
            return frozenset(p for p in pending if p.passed in left)
        for number in passed:
            self._tell_copies(self.barriers[number])
            self.barriers[number].attributes["addrSpace"] = i32_attribute(SHARED | GLOBAL)
        return frozenset(p for p in pending if p.passed not in passed)

    @property
    def has_copies(self) -> bool:
        """True if copies of blocks are among the accesses."""
        return any(site.is_block_copy for site in self.sites)

    def _tell_copies(self, op: ir.Operation) -> None:
        """Before the barrier at ``op``: copies see what this thread wrote, and it sees what they wrote."""
        if not self.has_copies:
            return
        with ir.InsertionPoint(op), op.location:
            make("ttg.fence_async_shared", **{"global": ir.UnitAttr.get()})
            if any(site.is_block_copy and site.writes for site in self.sites):
                make("ttg.async_store_wait", pendings=i32_attribute(0), complete=ir.UnitAttr.get())

    # --- control flow -----------------------------------------------------------------------------------

    def along(self, edge: Edge, pending: State) -> State:
        """Pending accesses along an edge; one to another block of a loop may lead to the next iteration, or
        program: programs are unordered.
        """
        if edge.block is None:
            return pending
        if PERSISTENT in edge.branch.attributes:
            return frozenset()
        number = _number(self.loops, edge.branch)
        return frozenset(p._replace(loops=p.loops | {number}) for p in pending)

    def control(self, op: ir.Operation, pending: State) -> State:
        """As :meth:`PathWalk.control`, behind a barrier for all accesses in it, where threads may part there."""
        if is_loop(op) or _may_part(op):
            done = [p for p in pending if p.passed not in _NOT_DONE]
            pending = self._ordered(op, self._conflicting(op, done), pending)
        return super().control(op, pending)

    def concurrent(self, op: ir.Operation, pending: State) -> State:
        """Regions have barriers of their own warps, which order nothing before the op and behind it."""
        pending = self._ordered(op, self._conflicting(op, pending), pending)
        left = pending
        for block in region_blocks(op):
            left |= self.block(block, frozenset())
        return frozenset(p if p.passed in _NOT_DONE else p._replace(passed=_NOTHING) for p in left)

    # --- which accesses wait for which --------------------------------------------------------------------

    def _conflicts(self, before: _Pending, after: _Site) -> bool:
        """True if an element accessed in ``after`` may have been accessed in ``before`` by other threads."""
        site = self.sites[before.site]
        if (site.is_block_copy or after.is_block_copy) and not site.writes:
            return (
                False  # what was read is in registers, or waited for, before it is needed for what is written
            )
        return (
            site.may_overlap(after)
            and not site.commutes(after)
            and not self._are_other_words(site, after)
            and not self._by_same_threads(site, after, before.loops)
        )

    def _conflicting(self, op: ir.Operation, pending: Iterable[_Pending]) -> list[_Pending]:
        """Those of ``pending`` that an access inside of ``op`` waits for."""
        inside = [self.sites[n] for inner in all_ops(op) if (n := self.numbers.get(inner)) is not None]
        return [p for p in pending if any(self._conflicts(p, site) for site in inside)]

    def _are_other_words(self, before: _Site, after: _Site) -> bool:
        """True where each accesses one word, and the two differ."""
        if not (before.is_word and after.is_word and before.type == after.type):
            return False
        left, right = self.addresses.of(before.place), self.addresses.of(after.place)
        return left is not None and right is not None and never_meet(left, right)

    def _by_same_threads(self, before: _Site, after: _Site, loops: frozenset[int]) -> bool:
        if before.is_block_copy or after.is_block_copy:
            return False
        layout, other = before.layout, after.layout
        if (layout is None) != (other is None) or layout != other:
            return False
        if (before.by_copies or after.by_copies) and _has_copies(layout):
            return False
        one, two = before.place, after.place
        repeated = [self.loops[number] for number in loops]
        if len(one) == len(two) and all(_same(a, b, repeated) for a, b in zip(one, two, strict=True)):
            return True
        left, right = self.addresses.of(one), self.addresses.of(two)
        if left is None or right is None:
            return False
        return same_places(left, right, before.type, lambda v: any(_is_inside(v, loop) for loop in repeated))


def _sites(function: ir.Operation) -> list[_Site]:
    found = []
    for op in all_ops(function):
        access = access_of(op)
        if access is None or (effects := effects_of(op)) is None:
            continue
        reads, writes = not effects.isdisjoint(_READS), not effects.isdisjoint(_WRITES)
        is_block_copy = ASYNC in effects and not copies_to_shared(op)
        if not (reads or writes):
            continue
        roots = arguments_of(access.address)
        if is_block_copy and roots is not None:
            # what a descriptor is made in, or is of where the tensor is empty, is nobody else's
            roots = frozenset(root for root in roots if isinstance(root.owner, ir.Block))
        found.append(_Site(op, access, roots, reads, writes, is_block_copy))
    return found


def _overlapping(sites: list[_Site]) -> list[_Site]:
    """Those of ``sites`` that may overlap others, or themselves in a later iteration; none if nothing that is read or written again is."""
    if not any(site.writes for site in sites):
        return []
    return [site for site in sites if any(site.may_overlap(other) for other in sites)]


def _may_part(op: ir.Operation) -> bool:
    """True if threads may diverge at ``op``: the condition is read from global memory by each of them, or the
    result of such a loop.
    """
    waiting, seen = deciding_operands(op), set[ir.Value]()
    while waiting:
        value = waiting.pop()
        made = defining_op(value)
        if value in seen or made is None:
            continue
        if len(seen) == _MOST or is_control(made) or (reads := effects_of(made)) is None or reads & _READS:
            return True
        seen.add(value)
        waiting += made.operands
    return False


def _done(pending: State, which: int) -> State:
    """``pending`` where those that have passed ``which`` have passed nothing."""
    return frozenset(p._replace(passed=_NOTHING) if p.passed == which else p for p in pending)


def _number(known: list[ir.Operation], op: ir.Operation) -> int:
    """Index of ``op`` in ``known``, to which it is appended if absent."""
    for number, each in enumerate(known):
        if each == op:
            return number
    known.append(op)
    return len(known) - 1


def _has_copies(layout: LinearLayout | None) -> bool:
    """True where several threads hold an element; None is the layout of a scalar."""
    if layout is None:
        return True
    masks = layout.free_variable_masks()
    return any(masks.get(name) for name in (LANE, WARP, BLOCK))


def _same(one: ir.Value, other: ir.Value, loops: list[ir.Operation]) -> bool:
    """True if ``one`` in an iteration of ``loops`` and ``other`` in a later one are known to be equal;
    without loops, in the same.
    """
    ahead, seen = [(unconverted(one), unconverted(other))], set[tuple[ir.Value, ir.Value]]()
    while ahead:
        pair = ahead.pop()
        if pair in seen:
            continue
        seen.add(pair)
        a, b = pair
        if a == b and not any(_is_inside(a, loop) for loop in loops):
            continue
        left, right = defining_op(a), defining_op(b)
        if left is None or right is None or len(seen) > _MOST or not _computes_alike(left, right):
            return False
        ahead += [
            (unconverted(x), unconverted(y)) for x, y in zip(left.operands, right.operands, strict=True)
        ]
    return True


def _is_inside(value: ir.Value, loop: ir.Operation) -> bool:
    block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
    while True:
        op = block.owner.operation
        if op == loop:
            return True
        if op.parent is None or op.block is None:
            return False
        block = op.block


def _computes_alike(left: ir.Operation, right: ir.Operation) -> bool:
    """True if both give equal results for equal operands."""
    if left == right:
        return is_pure(left) and not len(left.regions)
    return (
        type(left.opview) is type(right.opview)
        and len(left.results) == len(right.results) == 1
        and len(left.operands) == len(right.operands)
        and not len(left.regions)
        and is_pure(left)
        and left.attributes == right.attributes
    )
