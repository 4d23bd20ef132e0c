"""Orders what runs beside the threads with what these do to shared memory; asked by ``insert-barriers``.

Buffers that copies to descriptors read may be written again after ``ttng.async_store_wait`` and a barrier: both are put in where
something else is written there, and the wait before the function ends.

Barriers in memory: their start (and end) write them, and whatever else uses them reads them, so that all threads synchronise in
between.  One thread starts all of them, so that starts need no barrier between them.  A copy that they count is seen by whoever waits
for its phase: no barrier follows.

The regions of a ``ttg.warp_specialize`` are gone through one by one: what one does to the memory of another is ordered by barriers in
memory, which are the program's matter.

What ordinary code wrote is seen by copies between descriptors and buffers, and by dots (and copies for them) that run on their own, only after
``ttng.fence_async_shared`` *and* a barrier.  Where neither stands, both are put in.

The same the other way round: copies from descriptors overtake ordinary loads under way, which a barrier does not hold up.  So whoever
read a buffer executes a fence before such a copy writes there again: before the barrier in between, or before ``ttng.arrive_barrier``
gives the buffer (one of its ``deps``) to threads that copy; before a wait for dots right in front of that, for it is done while they run.

Ordered barriers of warp groups (``ttg.ordered_barrier``) are taken back where threads must synchronise in them: the other groups wait for theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import ClassVar, Self

from tri_core.ir.traits import is_view, maps_elements
from tri_core.ir.views import cast, defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_gpu_dialect.dialect import (
    ArriveBarrierOp,
    AsyncCopyDescriptorToLocalOp,
    AsyncCopyLocalToDescriptorOp,
    AsyncStoreWaitOp,
    FenceAsyncSharedOp,
    InitBarrierOp,
    InvalBarrierOp,
    LocalLoadOp,
    OrderedBarrierOp,
    WarpGroupDotOp,
    WarpGroupDotWaitOp,
    WarpSpecializeOp,
)
from tri_gpu_dialect.dialect.ordered_barriers import drop_ordered_barriers
from tri_gpu_dialect.edit import block_ops, i32_attribute, reads_beside
from tri_gpu_dialect.transforms.memory.hazards import (
    NONE,
    Accesses,
    Ordering,
    Pending,
    Ranges,
    Walk,
    overlap,
    register_ordering,
)

__all__ = ["ProxyOrdering"]

#: done by the first of the threads that run them
_BY_ONE = (InitBarrierOp, InvalBarrierOp)

_CONCERNED = (
    *_BY_ONE,
    ArriveBarrierOp,
    AsyncCopyDescriptorToLocalOp,
    AsyncCopyLocalToDescriptorOp,
    AsyncStoreWaitOp,
    FenceAsyncSharedOp,
    OrderedBarrierOp,
    WarpGroupDotOp,
    WarpGroupDotWaitOp,
    WarpSpecializeOp,
)


@dataclass(frozen=True)
class _Proxies:
    """Byte ranges.

    ``begun``: written by starts and ends of barriers in memory, which one thread does, and by nothing else; ``unfenced`` and
    ``taken``: written and read by ordinary code since the last fence; ``announced``: written before it, and no
    barrier since; ``leaving``: read by copies to descriptors that
    nobody has waited for; ``under_way``: read by dots that run on their own, until they are waited for; ``coming``: written
    by asynchronous copies that nobody has waited for, which are ordinary writes then.
    """

    begun: Ranges = NONE
    unfenced: Ranges = NONE
    announced: Ranges = NONE
    taken: Ranges = NONE
    leaving: Ranges = NONE
    under_way: Ranges = NONE
    coming: Ranges = NONE

    def __or__(self, other: _Proxies) -> _Proxies:
        if self is other:
            return self
        return _Proxies(
            self.begun | other.begun,
            self.unfenced | other.unfenced,
            self.announced | other.announced,
            self.taken | other.taken,
            self.leaving | other.leaving,
            self.under_way | other.under_way,
            self.coming | other.coming,
        )

    def synchronised(self) -> _Proxies:
        """See :class:`.hazards.State`."""
        return replace(self, begun=NONE, announced=NONE)

    @property
    def waits(self) -> bool:
        """See :class:`.hazards.State`."""
        return bool(self.begun)

    def fenced(self) -> _Proxies:
        """After a fence: what runs on its own knows of it after a barrier."""
        return replace(self, announced=self.announced | self.unfenced, unfenced=NONE, taken=NONE)


@register_ordering
class ProxyOrdering(Ordering):
    """See the module."""

    nothing: ClassVar[_Proxies] = _Proxies()

    def __init__(self, walk: Walk, place: int) -> None:
        super().__init__(walk, place)
        #: what copies from descriptors write somewhere in the function, and in the region that is gone through
        self.copied_to: Ranges | None = None
        self.own_copies: Ranges = NONE

    @classmethod
    def concerns(cls, op: ir.Operation) -> bool:
        """See :class:`Ordering`."""
        return isa(op, *_CONCERNED) or reads_beside(op)

    def state(self, pending: Pending) -> _Proxies:
        """Pending accesses that concern it."""
        state = pending.states[self.place]
        assert isinstance(state, _Proxies)
        return state

    def inside(self, ops: Iterable[ir.Operation]) -> Self:
        """See :class:`Ordering`."""
        own = copy(self)
        copies = [
            cast(op, AsyncCopyDescriptorToLocalOp) for op in ops if isa(op, AsyncCopyDescriptorToLocalOp)
        ]
        own.own_copies = self.walk.ranges([each.result for each in copies])
        if own.copied_to is None:
            own.copied_to = own.own_copies
        return own

    # --- what the walk asks -----------------------------------------------------------------------------

    def op(self, op: ir.Operation, pending: Pending) -> Pending | None:
        """See :class:`Ordering`."""
        state = self.state(pending)
        if isa(op, AsyncStoreWaitOp):
            self.walk.synchronize_after(op)
            pending = pending.synchronised()
            return self._with(pending, leaving=NONE if _waits_for_all(op) else state.leaving)
        if isa(op, FenceAsyncSharedOp):
            return pending if "global" in op.attributes else self.put(pending, state.fenced())
        if isa(op, ArriveBarrierOp):
            return self._arrive(op, pending)
        if isa(op, WarpGroupDotWaitOp):
            # until here, and maybe here by other warps, dots read: a barrier before has not ordered that
            left = NONE if _waits_for_all(op) else state.under_way
            pending = replace(pending, reads=pending.reads | state.under_way)
            return self._with(pending, under_way=left)
        return None

    def before(self, op: ir.Operation, own: Accesses, pending: Pending) -> tuple[Pending, bool]:
        """See :class:`Ordering`."""
        state = self.state(pending)
        begun = NONE if isa(op, *_BY_ONE) else state.begun
        needs_barrier = overlap(own.writes, begun) or overlap(own.reads, begun)
        if overlap(own.writes, state.leaving):
            _store_wait(op)
            pending, needs_barrier = self._with(pending, leaving=NONE), True
        seen = _seen_by_proxy(op, own)
        if overlap(seen, state.unfenced) or (
            isa(op, AsyncCopyDescriptorToLocalOp) and overlap(own.writes, state.taken)
        ):
            pending = self._fenced(op, pending)
        return pending, needs_barrier or overlap(seen, self.state(pending).announced)

    def asynchronous(self, op: ir.Operation, own: Accesses, pending: Pending) -> Pending | None:
        """See :class:`Ordering`."""
        state = self.state(pending)
        if isa(op, AsyncCopyDescriptorToLocalOp):
            return pending
        if isa(op, AsyncCopyLocalToDescriptorOp):
            return self._with(pending, leaving=state.leaving | own.reads)
        if reads_beside(op):
            return self._with(pending.accessed(own), under_way=state.under_way | own.reads)
        if isa(op, *_BY_ONE):
            return self._with(pending, begun=state.begun | own.writes, unfenced=state.unfenced | own.writes)
        return None

    def copied(self, own: Accesses, pending: Pending) -> Pending:
        """See :class:`Ordering`."""
        return self._with(pending, coming=self.state(pending).coming | own.writes)

    def waited(self, pending: Pending, *, everything: bool, is_fenced: bool) -> Pending:
        """See :class:`Ordering`."""
        state = self.state(pending)
        unfenced = NONE if is_fenced else state.unfenced | state.coming
        return self._with(pending, unfenced=unfenced, coming=NONE if everything else state.coming)

    def accessed(self, own: Accesses, pending: Pending) -> Pending:
        """See :class:`Ordering`."""
        state = self.state(pending)
        return self._with(pending, unfenced=state.unfenced | own.writes, taken=state.taken | own.reads)

    def at_barrier(self, op: ir.Operation, pending: Pending) -> Pending:
        """See :class:`Ordering`: a thread that copies behind it overtakes what others load, which hold up, not it."""
        return self._fenced(op, pending) if overlap(self.state(pending).taken, self.own_copies) else pending

    def belongs_to_wait(self, op: ir.Operation) -> bool:
        """See :class:`Ordering`."""
        return isa(op, FenceAsyncSharedOp)

    def finish(self, function: ir.Operation, ends: Sequence[tuple[ir.Operation, Pending]]) -> None:
        """See :class:`Ordering`."""
        for end, pending in ends:
            if self.state(pending).leaving:
                _store_wait(end)
        drop_ordered_barriers(function)

    # --- of these ---------------------------------------------------------------------------------------

    def _arrive(self, op: ir.Operation, pending: Pending) -> Pending:
        """Buffers are given to those who wait for the barrier, and are copies' then."""
        given = self.walk.ranges(cast(op, ArriveBarrierOp).deps) & (self.copied_to or NONE)
        state = self.state(pending)
        if overlap(given, state.unfenced):
            pending = self._fenced(op, pending)
        elif overlap(given, state.taken):
            pending = self._fenced(_dots_end(op), pending)
        return self.walk.access(op, pending)

    def _fenced(self, op: ir.Operation, pending: Pending) -> Pending:
        """A fence before ``op``; what is pending behind it."""
        ir.Operation.create("ttg.fence_async_shared", ip=ir.InsertionPoint(op), loc=op.location)
        return self.put(pending, self.state(pending).fenced())

    def _with(self, pending: Pending, **ranges: Ranges) -> Pending:
        return self.put(pending, replace(self.state(pending), **ranges))


def _seen_by_proxy(op: ir.Operation, own: Accesses) -> Ranges:
    """Of what ``op`` accesses, what copies or dots do; a copy's barrier in memory is among its reads, and needs no fence."""
    if isa(op, AsyncCopyDescriptorToLocalOp):
        return own.writes
    return own.reads if isa(op, AsyncCopyLocalToDescriptorOp) or reads_beside(op) else NONE


def _waits_for_all(op: ir.Operation) -> bool:
    return int(ir.IntegerAttr(op.attributes["pendings"]).value) == 0


def _store_wait(op: ir.Operation) -> None:
    ir.Operation.create(
        "ttg.async_store_wait",
        attributes={"pendings": i32_attribute(0)},
        ip=ir.InsertionPoint(op),
        loc=op.location,
    )


def _dots_end(op: ir.Operation) -> ir.Operation:
    """The wait for dots that stands before ``op`` with nothing but arithmetic in between, else ``op``: a fence is done while dots run.

    Not where these multiply what was loaded: their loads are over when they are, and an assembler of 2025 dies of fences beside such dots.
    """
    ops = block_ops(op.block)
    place = ops.index(op)
    while place and _is_arithmetic(ops[place - 1]):
        place -= 1
    wait = ops[place - 1] if place else op
    if not isa(wait, WarpGroupDotWaitOp) or any(map(_is_of_loads, cast(wait, WarpGroupDotWaitOp).inputs)):
        return op
    return wait


def _is_arithmetic(op: ir.Operation) -> bool:
    return maps_elements(op.name) or is_view(op) or isa(op, arith.ConstantOp)


def _is_of_loads(accumulators: ir.Value) -> bool:
    """True if a dot with accumulators ``accumulators`` reads register operands from ``ttg.local_load``."""
    dot = defining_op(accumulators, WarpGroupDotOp)
    return dot is not None and any(defining_op(v, LocalLoadOp) is not None for v in (dot.a, dot.b))
