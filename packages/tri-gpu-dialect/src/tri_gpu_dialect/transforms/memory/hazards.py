"""Barriers for accesses of shared memory: the walk through a function, and its extension points.

Going through the program, the walk keeps the byte ranges that were read and written since the last barrier.  An op that writes what was
read or written, or reads what was written, gets a barrier before it.  Loops are gone through until nothing new is carried; after a
branch, what either side left is pending.

What ops read and write is what they declare (:func:`tri_core.ir.effects.accesses_of`); of an op that declares nothing, all that it is
given.  An op with scratch memory writes it first, has a barrier after its last write, and ends by reading it: that is what lowerings
promise.  So it conflicts by its writes with what is pending before it, and leaves nothing pending but the reads of its scratch.

Asynchronous copies by a thread's own pointers are visible to other threads after ``ttg.async_wait`` *and* a barrier: one follows every
wait.

Hardware where more than the threads accesses shared memory has an :class:`Ordering`, which whoever describes it registers
(:func:`register_ordering`): it keeps a state of its own beside what is pending, and puts what it needs before ops.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import ClassVar, Protocol, Self, TypeVar

from tri_core.errors import PluginError, VerificationError
from tri_core.ir.effects import ASYNC, READ_SHARED, WRITE_SHARED, Effects, accesses_of
from tri_core.ir.regions import edges_of, ends_region, region_blocks
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.alias import Aliases, aliases, allocates_shared
from tri_gpu_dialect.base import MemDescType, SharedMemoryAttr
from tri_gpu_dialect.dialect import AsyncWaitOp, BarrierOp
from tri_gpu_dialect.edit import SHARED, all_ops, barrier, block_ops, copies_to_shared, is_barrier, terminator
from tri_gpu_dialect.plans.scratch import SHARED as SHARED_MEASURES
from tri_gpu_dialect.plans.scratch import ScratchMeasures
from tri_gpu_dialect.transforms.memory.paths import PathWalk
from tri_gpu_dialect.transforms.memory.placement import buffer_bytes

__all__ = [
    "NONE",
    "Accesses",
    "Ordering",
    "Pending",
    "Range",
    "Ranges",
    "State",
    "Walk",
    "overlap",
    "register_ordering",
]

#: bytes of shared memory from the first to before the second
Range = tuple[int, int]
Ranges = frozenset[Range]

NONE: Ranges = frozenset()


def overlap(left: Ranges, right: Ranges) -> bool:
    """True if a range of ``left`` overlaps one of ``right``."""
    return any(a < d and c < b for a, b in left for c, d in right)


@dataclass(frozen=True)
class Accesses:
    """Byte ranges that an op reads and writes."""

    reads: Ranges = NONE
    writes: Ranges = NONE


_NOTHING = Accesses()


class State(Protocol):
    """State of an :class:`Ordering`; a value, of which ``|`` is the join."""

    def __or__(self, other: Self, /) -> Self: ...

    def synchronised(self) -> Self:
        """After a barrier."""
        ...

    @property
    def waits(self) -> bool:
        """True if a barrier would change the state."""
        ...


@dataclass(frozen=True)
class Pending:
    """Byte ranges read and written since the last barrier, and the states of the orderings at work, in their order."""

    reads: Ranges = NONE
    writes: Ranges = NONE
    states: tuple[State, ...] = ()

    def __or__(self, other: Pending) -> Pending:
        if self is other:
            return self
        states = tuple(a | b for a, b in zip(self.states, other.states, strict=True))
        return Pending(self.reads | other.reads, self.writes | other.writes, states)

    def accessed(self, own: Accesses) -> Pending:
        """Pending accesses after ``own`` as well."""
        return replace(self, reads=self.reads | own.reads, writes=self.writes | own.writes)

    def synchronised(self) -> Pending:
        """Pending accesses after a barrier."""
        return Pending(states=tuple(state.synchronised() for state in self.states))

    def conflicts(self, later: Accesses) -> bool:
        """True if ``later`` accesses must wait for these."""
        return overlap(later.writes, self.reads | self.writes) or overlap(later.reads, self.writes)

    @property
    def waits(self) -> bool:
        """True if a barrier would change the state."""
        return bool(self.reads or self.writes) or any(state.waits for state in self.states)


class Ordering(ABC):
    """Ordering of accesses by other means than barriers, in one function: called by the walk at each op.

    A subclass says which ops concern it (:meth:`concerns`), what is pending in the beginning (``nothing``) and what has to be done at
    the end (:meth:`finish`), and answers those of the other questions that mean something to its hardware.  Its state is
    ``pending.states[self.place]``, and :meth:`put` changes that.
    """

    #: of this class; what is pending in the beginning
    nothing: ClassVar[State]

    def __init__(self, walk: Walk, place: int) -> None:
        self.walk, self.place = walk, place

    @classmethod
    @abstractmethod
    def concerns(cls, op: ir.Operation) -> bool:
        """True if a function with ``op`` needs this ordering."""

    def put(self, pending: Pending, state: State) -> Pending:
        """``pending`` with another state of this ordering."""
        states = list(pending.states)
        states[self.place] = state
        return replace(pending, states=tuple(states))

    def op(self, op: ir.Operation, pending: Pending) -> Pending | None:
        """Pending accesses after an op that orders others; None if this ordering does not handle ``op``."""
        return None

    def before(self, op: ir.Operation, own: Accesses, pending: Pending) -> tuple[Pending, bool]:
        """Put what ``op``, which does ``own``, needs before it; gives what is pending then, and whether it needs a barrier too."""
        return pending, False

    def asynchronous(self, op: ir.Operation, own: Accesses, pending: Pending) -> Pending | None:
        """Pending accesses after ``op``, whose accesses are asynchronous; None if it has none."""
        return None

    def copied(self, own: Accesses, pending: Pending) -> Pending:
        """After a copy by a thread's pointers was started, until a wait."""
        return pending

    def waited(self, pending: Pending, *, everything: bool, is_fenced: bool) -> Pending:
        """After a wait for such copies, and the barrier behind it; ``is_fenced``: what :meth:`belongs_to_wait` stood there."""
        return pending

    def accessed(self, own: Accesses, pending: Pending) -> Pending:
        """After the threads accessed memory."""
        return pending

    def at_barrier(self, op: ir.Operation, pending: Pending) -> Pending:
        """Put what is needed before barrier ``op``."""
        return pending

    def belongs_to_wait(self, op: ir.Operation) -> bool:
        """True if ``op``, right behind a wait, precedes the barrier that follows the wait."""
        return False

    def inside(self, ops: Iterable[ir.Operation]) -> Self:
        """The ordering of a region that runs beside others, with ``ops`` in it."""
        return self

    @abstractmethod
    def finish(self, function: ir.Operation, ends: Sequence[tuple[ir.Operation, Pending]]) -> None:
        """Barriers are in: put what is needed before each of ``ends``, a last op of ``function``, with what is pending there."""


_O = TypeVar("_O", bound=type[Ordering])

_ORDERINGS: dict[str, type[Ordering]] = {}


def register_ordering(kind: _O) -> _O:
    """Have walks ask an :class:`Ordering` of ``kind`` about functions with ops that concern it.

    PluginError for a class that lacks what each has to define.
    """
    lacking = sorted(kind.__abstractmethods__ | ({"nothing"} if not hasattr(kind, "nothing") else set()))
    if lacking:
        raise PluginError(
            f"the ordering {kind.__qualname__} does not define {' and '.join(lacking)}",
            remedy=f"see the docstring of {Ordering.__module__}.{Ordering.__qualname__}",
            plugin=kind.__module__.partition(".")[0],
        )
    _ORDERINGS[f"{kind.__module__}.{kind.__qualname__}"] = kind
    return kind


@dataclass
class Walk(PathWalk[Pending]):
    """Goes through ``function`` and puts barriers in."""

    aliases: Aliases
    measures: ScratchMeasures
    orderings: list[Ordering] = field(default_factory=list)
    #: waits that have their barrier
    waits: set[ir.Operation] = field(default_factory=set)
    #: the two ops behind the one that is looked at
    behind: Sequence[ir.Operation] = ()

    @classmethod
    def through(cls, function: ir.Operation, measures: ScratchMeasures = SHARED_MEASURES) -> None:
        """Insert ``ttg.barrier`` ops, and what the orderings of the ops in ``function`` need.

        ``measures``: the target's, by which the memory of ops was allocated.
        VerificationError for an op whose accesses go on after it and that no ordering knows.
        """
        walk, ops = cls(aliases(function), measures), all_ops(function)
        for kind in _ORDERINGS.values():
            if any(map(kind.concerns, ops)):
                walk.orderings.append(kind(walk, len(walk.orderings)))
        walk.orderings = [each.inside(ops) for each in walk.orderings]
        ends = [
            (terminator(block), walk.block(block, walk.nothing())) for block in function.regions[0].blocks
        ]
        for each in walk.orderings:
            each.finish(function, ends)

    def block(self, block: ir.Block, pending: Pending) -> Pending:
        """Go through ``block``; gives what is pending at its end."""
        ops = block_ops(block)
        for place, op in enumerate(ops):
            self.behind = ops[place + 1 : place + 3]
            pending = self.visit(op, pending)
        return pending

    def nothing(self) -> Pending:
        """As :meth:`PathWalk.nothing`, with what the orderings begin with."""
        return Pending(states=tuple(each.nothing for each in self.orderings))

    def op(self, op: ir.Operation, pending: Pending) -> Pending:
        """Pending accesses after ``op``; inserts the barrier that it needs before it."""
        if isa(op, BarrierOp):
            return self.barrier(op, pending)
        if isa(op, AsyncWaitOp):
            return self.wait(op, pending)
        for each in self.orderings:
            done = each.op(op, pending)
            if done is not None:
                return done
        return self.access(op, pending)

    def access(self, op: ir.Operation, pending: Pending) -> Pending:
        """As :meth:`op`, of one that accesses memory or does nothing."""
        own = self.effects(op)
        scratch = self.scratch(op)
        if own is _NOTHING and scratch is None:
            return pending
        if scratch is not None:
            own = replace(own, writes=own.writes | {scratch})
        pending = self.ordered(op, pending, own)
        if copies_to_shared(op):
            for each in self.orderings:
                pending = each.copied(own, pending)
            return pending  # under way until a wait, which orders it
        for each in self.orderings:
            done = each.asynchronous(op, own, pending)
            if done is not None:
                return done
        _refuse_unordered(op)
        if scratch is not None:
            # the barrier inside an op with scratch orders all that came before
            left = frozenset({scratch})
            pending = replace(pending.synchronised(), reads=left)
            own = replace(own, reads=own.reads | left)
        else:
            pending = pending.accessed(own)
        for each in self.orderings:
            pending = each.accessed(own, pending)
        return pending

    def ordered(self, op: ir.Operation, pending: Pending, own: Accesses) -> Pending:
        """Put what ``op`` needs before it; gives what is pending then."""
        needs_barrier = pending.conflicts(own)
        for each in self.orderings:
            pending, needs = each.before(op, own, pending)
            needs_barrier = needs_barrier or needs
        if not needs_barrier:
            return pending
        barrier(ir.InsertionPoint(op), op.location, SHARED)
        return pending.synchronised()

    # --- ops that order others --------------------------------------------------------------------------

    def barrier(self, op: ir.Operation, pending: Pending) -> Pending:
        """After a barrier."""
        if not is_barrier(op, SHARED):
            return pending
        for each in self.orderings:
            pending = each.at_barrier(op, pending)
        return pending.synchronised()

    def wait(self, op: ir.Operation, pending: Pending) -> Pending:
        """After a wait for copies, and the barrier that it gets."""
        is_fenced = self.synchronize_after(op)
        everything = ir.IntegerAttr(op.attributes["num"]).value == 0
        pending = pending.synchronised()
        for each in self.orderings:
            pending = each.waited(pending, everything=everything, is_fenced=is_fenced)
        return pending

    def synchronize_after(self, op: ir.Operation) -> bool:
        """All threads synchronise after ``op``, and after what belongs to it right behind it; whether there is such."""
        # a block ends in something else
        belongs = any(each.belongs_to_wait(self.behind[0]) for each in self.orderings)
        if op not in self.waits:  # a loop's body is gone through several times
            self.waits.add(op)
            after, next_ = (self.behind[0], self.behind[1]) if belongs else (op, self.behind[0])
            if not is_barrier(next_, SHARED):
                barrier(ir.InsertionPoint.after(after), op.location, SHARED)
        return belongs

    # --- what ops do ------------------------------------------------------------------------------------

    def scratch(self, op: ir.Operation) -> Range | None:
        """The memory that ``op`` has for itself."""
        if "allocation.offset" not in op.attributes or allocates_shared(op):
            return None
        start = ir.IntegerAttr(op.attributes["allocation.offset"]).value
        return (start, start + self.measures.bytes(op))

    def effects(self, op: ir.Operation) -> Accesses:
        """Reads and writes of buffers by ``op``."""
        of = self.aliases.of
        if not of or ends_region(op) or not (any(v in of for v in op.operands) or allocates_shared(op)):
            return _NOTHING
        # what the regions of an op do that says not how control goes through them is not known
        found = None if len(op.regions) else accesses_of(op, READ_SHARED.resource)
        reads, writes = (op.operands, op.operands) if found is None else map(_in_shared, found)
        own = Accesses(self.ranges(reads), self.ranges(writes))
        return own if own.reads or own.writes else _NOTHING

    def ranges(self, values: Iterable[ir.Value]) -> Ranges:
        """The bytes that ``values``, descriptors of memory, may be of."""
        found = set()
        for value in values:
            for index in self.aliases.of.get(value, frozenset()):
                allocation = self.aliases.allocations[index]
                start = ir.IntegerAttr(allocation.attributes["allocation.offset"]).value
                found.add((start, start + buffer_bytes(allocation.results[0].type)))
        return frozenset(found)

    # --- control flow -----------------------------------------------------------------------------------

    def concurrent(self, op: ir.Operation, pending: Pending) -> Pending:
        """All threads synchronise before they part; then each region has barriers of its own."""
        if pending.waits:
            barrier(ir.InsertionPoint(op), op.location, SHARED)
        apart = pending.synchronised()
        left = [e.source.block for e in edges_of(op) if e.block is None and not e.enters]
        behind: Pending | None = None
        for block in region_blocks(op):
            end = self.alone(block, apart)
            if any(block == each for each in left):
                behind = end if behind is None else behind | end
        return apart if behind is None else behind

    def alone(self, block: ir.Block, pending: Pending) -> Pending:
        """Go through a region that runs beside others."""
        ops = [inner for op in block_ops(block) for inner in all_ops(op)]
        inside = replace(self, orderings=[each.inside(ops) for each in self.orderings])
        for each in inside.orderings:
            each.walk = inside
        return inside.block(block, pending)


def _in_shared(values: Sequence[ir.Value]) -> list[ir.Value]:
    """Those of ``values`` that are buffers in shared memory, no tensor and in no memory of a vendor's."""
    return [v for v in values if isinstance(v.type, MemDescType) and _is_shared(v.type.memory_space)]


def _is_shared(space: ir.Attribute) -> bool:
    return isinstance(space.maybe_downcast(), SharedMemoryAttr)


_ACCESSES = frozenset({READ_SHARED, WRITE_SHARED})


def _refuse_unordered(op: ir.Operation) -> None:
    """VerificationError where ``op`` accesses shared memory on its own."""
    declared = Effects.declared_by(op.name)
    if declared is not None and ASYNC in declared and not declared.isdisjoint(_ACCESSES):
        raise VerificationError(
            f"{op.name} accesses shared memory while the program goes on, and nothing says what orders that",
            location=source_location(op.location),
            remedy="register an Ordering that goes through it (tri_gpu_dialect.transforms.memory.hazards), or leave ASYNC out of its effects",
        )
