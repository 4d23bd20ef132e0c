"""Puts barriers between accesses of shared memory that conflict, and nowhere else.

Going through the program, the pass keeps the byte ranges that were read and written since the last barrier.
An op that writes what was read or written, or reads what was written, gets a barrier before it.  Loops are
gone through until nothing new comes round; after a branch, what either side left is pending.

What the lowering promises: an op with scratch memory writes it first, has a barrier after its last write,
and ends by reading it.  So it conflicts by its writes with what is pending before it, and leaves nothing
pending but the reads of its scratch.

Asynchronous copies are visible to other threads after ``ttg.async_wait`` *and* a barrier: one follows every
wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from tri_core.api import Pass, StageContext
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.alias import Aliases, aliases
from tri_gpu_dialect.edit import SHARED, barrier, block_ops, functions
from tri_gpu_dialect.passes.allocate_shared_memory import buffer_bytes
from tri_gpu_dialect.plans import scratch_bytes

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


@effects_of("ttg.local_dot")
def _reads_two(op: ir.Operation) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
    return list(op.operands)[:2], ()


@effects_of("ttg.local_store", "ttg.async_copy_global_to_local")
def _writes_second(op: ir.Operation) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
    return (), op.operands[1:2]


@effects_of("ttg.local_scatter")
def _writes_first(op: ir.Operation) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
    return (), op.operands[:1]


@effects_of("ttg.local_alloc")
def _fills(op: ir.Operation) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
    return (), op.results if len(op.operands) else ()


@effects_of(
    "ttg.async_commit_group",
    "ttg.local_dealloc",
    "ttg.memdesc_index",
    "ttg.memdesc_subslice",
    "ttg.memdesc_trans",
    "ttg.memdesc_reshape",
    "ttg.memdesc_reinterpret",
    "scf.yield",
    "scf.condition",
)
def _nothing(_: ir.Operation) -> tuple[Sequence[ir.Value], Sequence[ir.Value]]:
    return (), ()


#: ops whose writes are under way until a wait, which has a barrier of its own
_LATER = frozenset({"ttg.async_copy_global_to_local"})

Range = tuple[int, int]


@dataclass(frozen=True)
class _Pending:
    """Byte ranges read and written since the last barrier."""

    reads: frozenset[Range] = frozenset()
    writes: frozenset[Range] = frozenset()

    def __or__(self, other: _Pending) -> _Pending:
        return _Pending(self.reads | other.reads, self.writes | other.writes)

    def conflicts(self, later: _Pending) -> bool:
        """Whether ``later`` accesses must wait for these."""
        return _meet(later.writes, self.reads | self.writes) or _meet(later.reads, self.writes)


def _meet(left: frozenset[Range], right: frozenset[Range]) -> bool:
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
            for block in function.regions[0].blocks:
                insertion.block(block, _NOTHING)


@dataclass
class _Insertion:
    aliases: Aliases
    #: waits that have their barrier, by their token
    waits: set[ir.Value] = field(default_factory=set)

    def block(self, block: ir.Block, pending: _Pending) -> _Pending:
        """Go through ``block``; gives what is pending at its end."""
        for op in block_ops(block):
            control = _CONTROL.get(op.name)
            pending = control(self, op, pending) if control is not None else self.op(op, pending)
        return pending

    def op(self, op: ir.Operation, pending: _Pending) -> _Pending:
        name = op.name
        if name == "ttg.barrier":
            shared = ir.IntegerAttr(op.attributes["addrSpace"]).value & SHARED
            return _NOTHING if shared else pending
        if name == "ttg.async_wait":
            if op.results[0] not in self.waits:  # a loop's body is gone through several times
                self.waits.add(op.results[0])
                barrier(ir.InsertionPoint.after(op), op.location, SHARED)
            return _NOTHING
        own = self.effects(op)
        scratch = self.scratch(op)
        if own is _NOTHING and scratch is None:
            return pending
        if scratch is not None:
            own = own | _Pending(writes=frozenset({scratch}))
        if pending.conflicts(own):
            barrier(ir.InsertionPoint(op), op.location, SHARED)
            pending = _NOTHING
        if name in _LATER:
            return pending
        # the barrier inside an op with scratch orders all that came before
        return pending | own if scratch is None else _Pending(reads=frozenset({scratch}))

    def scratch(self, op: ir.Operation) -> Range | None:
        if op.name == "ttg.local_alloc" or "allocation.offset" not in op.attributes:
            return None
        start = ir.IntegerAttr(op.attributes["allocation.offset"]).value
        return (start, start + scratch_bytes(op))

    def effects(self, op: ir.Operation) -> _Pending:
        of = self.aliases.of
        if not of:
            return _NOTHING
        rule = EFFECTS.get(op.name)
        if rule is not None:
            reads, writes = rule(op)
        elif any(v in of for v in op.operands):
            reads = writes = op.operands
        else:
            return _NOTHING
        return _Pending(self.ranges(reads), self.ranges(writes))

    def ranges(self, values: Sequence[ir.Value]) -> frozenset[Range]:
        found = set()
        for value in values:
            for index in self.aliases.of.get(value, frozenset()):
                allocation = self.aliases.allocations[index]
                start = ir.IntegerAttr(allocation.attributes["allocation.offset"]).value
                found.add((start, start + buffer_bytes(allocation.results[0].type)))
        return frozenset(found)

    # --- control flow -----------------------------------------------------------------------------------

    def for_(self, op: ir.Operation, pending: _Pending) -> _Pending:
        """The body may follow what is before the loop, or itself."""
        body = op.regions[0].blocks[0]
        while True:
            after = pending | self.block(body, pending)
            if after == pending:
                return pending
            pending = after

    def while_(self, op: ir.Operation, pending: _Pending) -> _Pending:
        before, after = (region.blocks[0] for region in op.regions)
        while True:
            leaving = self.block(before, pending)
            again = pending | self.block(after, leaving)
            if again == pending:
                return leaving
            pending = again

    def if_(self, op: ir.Operation, pending: _Pending) -> _Pending:
        ends = [self.block(block, pending) for region in op.regions for block in region.blocks]
        without_else = pending if len(ends) < 2 else _NOTHING
        for end in ends:
            without_else = without_else | end
        return without_else


_CONTROL = {"scf.for": _Insertion.for_, "scf.while": _Insertion.while_, "scf.if": _Insertion.if_}
