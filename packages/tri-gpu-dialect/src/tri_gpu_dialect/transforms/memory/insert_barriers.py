"""Puts barriers between accesses of shared memory that conflict, and nowhere else.

Going through the program, the pass keeps the byte ranges that were read and written since the last barrier.
An op that writes what was read or written, or reads what was written, gets a barrier before it.  Loops are
gone through until nothing new is loop-carried; after a branch, what either side left is pending.

What the lowering promises: an op with scratch memory writes it first, has a barrier after its last write,
and ends by reading it.  So it conflicts by its writes with what is pending before it, and leaves nothing
pending but the reads of its scratch.

Asynchronous copies are visible to other threads after ``ttg.async_wait`` *and* a barrier: one follows every
wait.  Buffers that copies to descriptors read may be written again after ``ttg.async_store_wait`` and a barrier:
both are put in where something else is written there, and the wait before the function ends.

Barriers in memory: their start (and end) write them, and whatever else uses them reads them, so that all
threads synchronise in between.  One thread starts all of them, so that starts need no barrier between them.  A copy that they count is seen by whoever waits for its phase: no barrier follows.

The regions of a ``ttg.warp_specialize`` are gone through one by one: what one does to the memory of another is
ordered by barriers in memory, which are the program's matter.

What ordinary code wrote is seen by copies between descriptors and buffers, and by dots that run on their own, only after
``ttg.fence_async_shared`` *and* a barrier.  Where neither stands, both are put in.

The same the other way round: copies from descriptors overtake ordinary loads under way, which a barrier does not hold up.  So whoever
read a buffer executes a fence before such a copy writes there again: before the barrier in between, or before ``ttg.arrive_barrier``
gives the buffer (one of its ``deps``) to threads that copy; before a wait for dots right in front of that, for it is done while they run.

Ordered barriers of warp groups (``ttg.ordered_barrier``) are taken back where threads must synchronise in them: the other groups wait for theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar

from tri_core.api import Pass, StageContext
from tri_core.ir.regions import (
    edges_of,
    ends_region,
    is_control,
    region_blocks,
)
from tri_core.ir.traits import is_view, maps_elements
from tri_core.ir.views import isa
from tri_core.mlir import arith, ir
from tri_gpu_dialect.analysis.alias import Aliases, aliases
from tri_gpu_dialect.dialect import (
    AsyncCopyDescriptorToLocalOp,
    AsyncCopyLocalToDescriptorOp,
    FenceAsyncSharedOp,
    InitBarrierOp,
    InvalBarrierOp,
    LocalAllocOp,
    LocalLoadOp,
    WarpGroupDotOp,
    WarpGroupDotWaitOp,
    WarpSpecializeOp,
)
from tri_gpu_dialect.dialect.ordered_barriers import drop_ordered_barriers
from tri_gpu_dialect.dialect.partitions import default_block, partition_blocks
from tri_gpu_dialect.edit import (
    SHARED,
    all_ops,
    barrier,
    block_ops,
    copies_to_shared,
    functions,
    is_barrier,
    terminator,
)
from tri_gpu_dialect.encodings import SharedEncoding, decode
from tri_gpu_dialect.plans import scratch_bytes
from tri_gpu_dialect.transforms.memory.placement import buffer_bytes

__all__ = ["EFFECTS", "Effects", "InsertBarriers", "effects_of"]

#: operands or results through which an op reads, and those through which it writes, shared memory
Effects = Callable[[ir.Operation], tuple[Sequence[ir.Value], Sequence[ir.Value]]]

EFFECTS: dict[str, Effects] = {}

_E = TypeVar("_E", bound=Effects)


def effects_of(*names: str) -> Callable[[_E], _E]:
    """Register how the ops called ``names`` touch shared memory; others with a descriptor do anything."""

    def register(function: _E) -> _E:
        EFFECTS.update(dict.fromkeys(names, function))
        return function

    return register


@effects_of("ttg.local_load", "ttg.local_gather")
def _reads_first(op: ir.Operation) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
    return op.operands[:1], ()


@effects_of("ttg.local_dot", "ttg.warp_group_dot")
def _reads_operands(op: ir.Operation) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
    """The operands and their scales, as far as they are in shared memory; what is added to is not."""
    operands = list(op.operands)
    read = [v for v in (*operands[:2], *operands[4:]) if _is_shared(v)]
    return read, ()


def _is_shared(value: ir.Value) -> bool:
    encoding = value.type.encoding
    return encoding is not None and isinstance(decode(encoding), SharedEncoding)


@effects_of("ttg.local_store", "ttg.async_copy_global_to_local")
def _writes_second(op: ir.Operation) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
    return (), op.operands[1:2]


@effects_of("ttg.local_scatter")
def _writes_first(op: ir.Operation) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
    return (), op.operands[:1]


@effects_of("ttg.local_alloc")
def _fills(op: ir.Operation) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
    return (), op.results if len(op.operands) else ()


@effects_of("ttg.init_barrier", "ttg.inval_barrier")
def _writes_own(op: ir.Operation) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
    return (), op.operands[:1]


@effects_of("ttg.barrier_expect", "ttg.arrive_barrier", "ttg.wait_barrier", "ttg.read_tile")
def _uses_barrier(op: ir.Operation) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
    return op.operands[:1], ()


@effects_of("ttg.broadcast_tile")
def _uses_number(op: ir.Operation) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
    # barriers in memory order it with readers, as they do copies
    return op.operands[1:2], ()


@effects_of("ttg.async_copy_descriptor_to_local")
def _copies_in(op: ir.Operation) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
    *_, counted, buffer, _ = op.operands
    return (counted,), (buffer,)


@effects_of("ttg.async_copy_local_to_descriptor")
def _copies_out(op: ir.Operation) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
    return list(op.operands)[-1:], ()


@effects_of(
    "ttg.async_commit_group",
    "ttg.local_dealloc",
    "ttg.memdesc_index",
    "ttg.memdesc_subslice",
    "ttg.memdesc_trans",
    "ttg.memdesc_reshape",
    "ttg.memdesc_reinterpret",
    "ttg.warp_yield",
    "ttg.warp_return",
)
def _nothing(_: ir.Operation) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
    return (), ()


_IN, _OUT = AsyncCopyDescriptorToLocalOp.OPERATION_NAME, AsyncCopyLocalToDescriptorOp.OPERATION_NAME
_DOT = "ttg.warp_group_dot"
#: done by the first of the threads that run them
_BY_ONE = (InitBarrierOp, InvalBarrierOp)

Range = tuple[int, int]


@dataclass(frozen=True)
class _Pending:
    """Byte ranges read and written since the last barrier.

    ``begun``: written by starts and ends of barriers in memory, which one thread does, and by nothing else; ``unfenced`` and
    ``taken``: written and read by ordinary code since the last fence; ``announced``: written before it, and no
    barrier since; ``leaving``: read by copies to descriptors that
    nobody has waited for; ``under_way``: read by dots that run on their own, until they are waited for; ``coming``: written
    by asynchronous copies that nobody has waited for, which are ordinary writes then.
    """

    reads: frozenset[Range] = frozenset()
    writes: frozenset[Range] = frozenset()
    begun: frozenset[Range] = frozenset()
    unfenced: frozenset[Range] = frozenset()
    announced: frozenset[Range] = frozenset()
    taken: frozenset[Range] = frozenset()
    leaving: frozenset[Range] = frozenset()
    under_way: frozenset[Range] = frozenset()
    coming: frozenset[Range] = frozenset()

    def __or__(self, other: _Pending) -> _Pending:
        return _Pending(
            self.reads | other.reads,
            self.writes | other.writes,
            self.begun | other.begun,
            self.unfenced | other.unfenced,
            self.announced | other.announced,
            self.taken | other.taken,
            self.leaving | other.leaving,
            self.under_way | other.under_way,
            self.coming | other.coming,
        )

    def synchronised(self) -> _Pending:
        """What is pending after a barrier."""
        none: frozenset[Range] = frozenset()
        return replace(self, reads=none, writes=none, begun=none, announced=none)

    def fenced(self) -> _Pending:
        """What is pending after a fence: what runs on its own knows of it after a barrier."""
        announced = self.announced | self.unfenced
        return replace(self, announced=announced, unfenced=frozenset(), taken=frozenset())

    def conflicts(self, later: _Pending, *, by_one: bool) -> bool:
        """Whether ``later`` accesses must wait for these; ``by_one``: they are a barrier's start or end."""
        written = self.writes if by_one else self.writes | self.begun
        return _overlap(later.writes, self.reads | written) or _overlap(later.reads, written)


def _overlap(left: frozenset[Range], right: frozenset[Range]) -> bool:
    return any(a < d and c < b for a, b in left for c, d in right)


_NOTHING = _Pending()


@dataclass(frozen=True)
class InsertBarriers(Pass):
    """See the module; runs after ``allocate-shared-memory``."""

    name: ClassVar[str] = "insert-barriers"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Insert ``ttg.barrier`` ops."""
        for function in functions(module):
            insertion = _Insertion(aliases(function))
            insertion.copied = insertion.own_copies = insertion.copies(all_ops(function))
            for block in function.regions[0].blocks:
                if insertion.block(block, _NOTHING).leaving:
                    end = terminator(block)
                    _store_wait(ir.InsertionPoint(end), end.location)
            drop_ordered_barriers(function)


@dataclass
class _Insertion:
    aliases: Aliases
    #: waits that have their barrier
    waits: set[ir.Operation] = field(default_factory=set)
    #: what copies from descriptors write somewhere in the function, and in the region that is gone through
    copied: frozenset[Range] = frozenset()
    own_copies: frozenset[Range] = frozenset()
    #: the two ops behind the one that is looked at
    behind: Sequence[ir.Operation] = ()

    def block(self, block: ir.Block, pending: _Pending) -> _Pending:
        """Go through ``block``; gives what is pending at its end."""
        ops = block_ops(block)
        for place, op in enumerate(ops):
            self.behind = ops[place + 1 : place + 3]
            if is_control(op):
                pending = self.control(op, pending)
            elif isa(op, WarpSpecializeOp):
                pending = self.partitions(op, pending)
            else:
                pending = self.op(op, pending)
        return pending

    def op(self, op: ir.Operation, pending: _Pending) -> _Pending:
        known = _MARKS.get(op.name)
        return known(self, op, pending) if known is not None else self.access(op, pending)

    def access(self, op: ir.Operation, pending: _Pending) -> _Pending:
        """What is pending after ``op``, before which stands what it needs."""
        own = self.effects(op)
        scratch = self.scratch(op)
        if own is _NOTHING and scratch is None:
            return pending
        if scratch is not None:
            own = own | _Pending(writes=frozenset({scratch}))
        pending = self.ordered(op, pending, own)
        if copies_to_shared(op):
            return pending | _Pending(coming=own.writes)  # under way until a wait, which orders it
        match op.name:
            case "ttg.async_copy_descriptor_to_local":
                return pending
            case "ttg.async_copy_local_to_descriptor":
                return pending | _Pending(leaving=own.reads)
            case "ttg.warp_group_dot":
                return pending | replace(own, under_way=own.reads)
            case "ttg.init_barrier" | "ttg.inval_barrier":
                return pending | _Pending(begun=own.writes, unfenced=own.writes)
        if scratch is None:
            return pending | replace(own, unfenced=own.writes, taken=own.reads)
        # the barrier inside an op with scratch orders all that came before
        left = frozenset({scratch})
        ordinary = _Pending(unfenced=own.writes, taken=own.reads | left)
        return replace(pending.synchronised() | ordinary, reads=left)

    def ordered(self, op: ir.Operation, pending: _Pending, own: _Pending) -> _Pending:
        """Put what ``op`` needs before it; gives what is pending then."""
        ip, location = ir.InsertionPoint(op), op.location
        needs_barrier = pending.conflicts(own, by_one=isa(op, *_BY_ONE))
        if _overlap(own.writes, pending.leaving):
            _store_wait(ip, location)
            pending, needs_barrier = replace(pending, leaving=frozenset()), True
        # a copy's barrier in memory is among its reads, and needs no fence
        seen = {_IN: own.writes, _OUT: own.reads, _DOT: own.reads}.get(op.name, frozenset())
        if _overlap(seen, pending.unfenced) or (
            isa(op, AsyncCopyDescriptorToLocalOp) and _overlap(own.writes, pending.taken)
        ):
            pending = self.fenced(op, pending)
        if not needs_barrier and not _overlap(seen, pending.announced):
            return pending
        barrier(ip, location, SHARED)
        return pending.synchronised()

    # --- ops that order others --------------------------------------------------------------------------

    def barrier(self, op: ir.Operation, pending: _Pending) -> _Pending:
        if not is_barrier(op, SHARED):
            return pending
        if _overlap(pending.taken, self.own_copies):
            # a thread that copies behind this barrier overtakes what others load: these hold up, not it
            pending = self.fenced(op, pending)
        return pending.synchronised()

    def wait(self, op: ir.Operation, pending: _Pending) -> _Pending:
        is_fenced = self.synchronize_after(op)
        everything = ir.IntegerAttr(op.attributes["num"]).value == 0
        unfenced = frozenset() if is_fenced else pending.unfenced | pending.coming
        coming = frozenset() if everything else pending.coming
        return replace(pending.synchronised(), unfenced=unfenced, coming=coming)

    def store_wait(self, op: ir.Operation, pending: _Pending) -> _Pending:
        self.synchronize_after(op)
        everything = ir.IntegerAttr(op.attributes["pendings"]).value == 0
        return replace(pending.synchronised(), leaving=frozenset() if everything else pending.leaving)

    def dot_wait(self, op: ir.Operation, pending: _Pending) -> _Pending:
        """Until here, and maybe here by other warps, dots read: a barrier before has not ordered that."""
        everything = ir.IntegerAttr(op.attributes["pendings"]).value == 0
        left = frozenset() if everything else pending.under_way
        return replace(pending, reads=pending.reads | pending.under_way, under_way=left)

    def arrive(self, op: ir.Operation, pending: _Pending) -> _Pending:
        """Buffers are given to those who wait for the barrier, and are copies' then."""
        given = self.ranges(list(op.operands)[1:]) & self.copied
        if _overlap(given, pending.unfenced):
            pending = self.fenced(op, pending)
        elif _overlap(given, pending.taken):
            pending = self.fenced(_dots_end(op), pending)
        return self.access(op, pending)

    def fenced(self, op: ir.Operation, pending: _Pending) -> _Pending:
        """A fence before ``op``; what is pending behind it."""
        ir.Operation.create("ttg.fence_async_shared", ip=ir.InsertionPoint(op), loc=op.location)
        return pending.fenced()

    def fence(self, op: ir.Operation, pending: _Pending) -> _Pending:
        return pending if "global" in op.attributes else pending.fenced()

    def synchronize_after(self, op: ir.Operation) -> bool:
        """All threads synchronise after ``op``, and after a fence right behind it; whether there is one."""
        is_fenced = isa(self.behind[0], FenceAsyncSharedOp)  # a block ends in something else
        if op not in self.waits:  # a loop's body is gone through several times
            self.waits.add(op)
            after, next_ = (self.behind[0], self.behind[1]) if is_fenced else (op, self.behind[0])
            if not is_barrier(next_, SHARED):
                barrier(ir.InsertionPoint.after(after), op.location, SHARED)
        return is_fenced

    def scratch(self, op: ir.Operation) -> Range | None:
        if isa(op, LocalAllocOp) or "allocation.offset" not in op.attributes:
            return None
        start = ir.IntegerAttr(op.attributes["allocation.offset"]).value
        return (start, start + scratch_bytes(op))

    def effects(self, op: ir.Operation) -> _Pending:
        of = self.aliases.of
        if not of:
            return _NOTHING
        rule = EFFECTS.get(op.name)
        if ends_region(op):
            return _NOTHING
        if rule is not None:
            reads, writes = rule(op)
        elif any(v in of for v in op.operands):
            reads = writes = op.operands
        else:
            return _NOTHING
        return _Pending(self.ranges(reads), self.ranges(writes))

    def copies(self, ops: Iterable[ir.Operation]) -> frozenset[Range]:
        """What copies from descriptors among ``ops`` write."""
        return self.ranges([_copies_in(op)[1][0] for op in ops if isa(op, AsyncCopyDescriptorToLocalOp)])

    def ranges(self, values: Sequence[ir.Value]) -> frozenset[Range]:
        found = set()
        for value in values:
            for index in self.aliases.of.get(value, frozenset()):
                allocation = self.aliases.allocations[index]
                start = ir.IntegerAttr(allocation.attributes["allocation.offset"]).value
                found.add((start, start + buffer_bytes(allocation.results[0].type)))
        return frozenset(found)

    # --- control flow -----------------------------------------------------------------------------------

    def control(self, op: ir.Operation, pending: _Pending) -> _Pending:
        """What is pending where a block begins, and behind ``op``, is what may be at any edge that leads there."""
        blocks, edges = region_blocks(op), edges_of(op)
        ends: list[_Pending | None] = [None] * len(blocks)

        def before(block: ir.Block | None) -> _Pending:
            found = _NOTHING
            for edge in edges:
                if edge.leads_to(block):
                    left = pending if edge.enters else ends[blocks.index(edge.source.block)]
                    found = found if left is None else found | left
            return found

        begun = [_NOTHING] * len(blocks)
        while True:
            news = False
            for number, block in enumerate(blocks):
                # what was pending once stays so: barriers that come in would make it less, and there might be no fixpoint
                at = before(block) | begun[number]
                if at != begun[number] or ends[number] is None:
                    begun[number], news = at, True
                    ends[number] = self.block(block, at)
            if not news:
                return before(None)

    def partitions(self, op: ir.Operation, pending: _Pending) -> _Pending:
        """All threads synchronise before they part; then each region has barriers of its own."""
        if pending.reads or pending.writes or pending.begun:
            barrier(ir.InsertionPoint(op), op.location, SHARED)
        apart = pending.synchronised()
        for block in partition_blocks(op):
            self.alone(block, apart)
        return self.alone(default_block(op), apart)

    def alone(self, block: ir.Block, pending: _Pending) -> _Pending:
        """Go through a region of its own."""
        ops = (inner for op in block_ops(block) for inner in all_ops(op))
        return replace(self, own_copies=self.copies(ops)).block(block, pending)


def _dots_end(op: ir.Operation) -> ir.Operation:
    """The wait for dots that stands before ``op`` with nothing but arithmetic in between, else ``op``: a fence is done while dots run.

    Not where these multiply what was loaded: their loads are over when they are, and an assembler of 2025 dies of fences beside such dots.
    """
    ops = block_ops(op.block)
    place = ops.index(op)
    while place and _is_arithmetic(ops[place - 1]):
        place -= 1
    wait = ops[place - 1] if place else op
    return wait if isa(wait, WarpGroupDotWaitOp) and not any(map(_is_of_loads, wait.operands)) else op


def _is_arithmetic(op: ir.Operation) -> bool:
    return maps_elements(op.name) or is_view(op) or isa(op, arith.ConstantOp)


def _is_of_loads(accumulators: ir.Value) -> bool:
    """Whether a dot that gives ``accumulators`` reads what ``ttg.local_load`` brought to registers."""
    if isinstance(accumulators.owner, ir.Block) or not isa(accumulators.owner.operation, WarpGroupDotOp):
        return False
    operands = [
        v for v in list(accumulators.owner.operation.operands)[:2] if not isinstance(v.owner, ir.Block)
    ]
    return any(isa(v.owner.operation, LocalLoadOp) for v in operands)


def _store_wait(ip: ir.InsertionPoint, loc: ir.Location) -> None:
    pendings = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 0)
    ir.Operation.create("ttg.async_store_wait", attributes={"pendings": pendings}, ip=ip, loc=loc)


_MARKS = {
    "ttg.barrier": _Insertion.barrier,
    "ttg.async_wait": _Insertion.wait,
    "ttg.async_store_wait": _Insertion.store_wait,
    "ttg.fence_async_shared": _Insertion.fence,
    "ttg.arrive_barrier": _Insertion.arrive,
    "ttg.warp_group_dot_wait": _Insertion.dot_wait,
}
