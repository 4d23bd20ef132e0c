"""Live ranges of shared-memory buffers, as intervals over the ops of a function.

Ops are numbered in program order.  A buffer lives from its allocation to the last op that touches it (or a
view of it); if that op is in a loop that the buffer comes from outside of, to the end of the loop; if the
buffer is carried from one iteration to the next, through the whole loop.  An op's scratch memory lives
while the op runs.

The regions of a ``ttg.warp_specialize`` run at the same time: what belongs to different ones lives at the same time, and
what comes from before it and is touched in any of them lives as long as the whole op.  What follows the op runs
beside its partitions still, as a continuation of its default region.

Rings of blocks (``ttg.awaited``) live shorter.  Partitions only copy into them, the default region waits for each of these copies, and
nobody else reads them: after the default region's last use nothing is under way there, and the bytes are its own again.  To what
other partitions have they are always in use.

Dots that run on their own, and copies for them, read their buffers until they are waited for; those onto a memory of a vendor's until
a barrier in memory is, and as it is not known which one tells of them, until the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Protocol

from tri_core.ir.dots import Dot
from tri_core.ir.regions import is_control, is_loop, region_blocks
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.alias import Aliases, aliases, allocates_shared
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import WaitBarrierOp, WarpGroupDotOp, WarpGroupDotWaitOp, WarpSpecializeOp
from tri_gpu_dialect.dialect.markers import AWAITED
from tri_gpu_dialect.dialect.partitions import default_block, partition_blocks
from tri_gpu_dialect.edit import reads_beside, terminator

__all__ = ["Buffer", "Lives", "ScratchNeeds", "buffers", "lives"]


class ScratchNeeds(Protocol):
    """The scratch memory that ops take, :class:`tri_gpu_dialect.plans.scratch.ScratchMeasures` of a target."""

    def bytes(self, op: ir.Operation) -> int:
        """Bytes of ``op``; 0: none."""
        ...

    def alignment(self, op: ir.Operation) -> int:
        """Bytes that they begin at a multiple of."""
        ...


@dataclass(eq=False)
class Buffer:
    """Shared memory that ``op`` owns: its allocation, or an op with scratch; ``[start, end]`` in op numbers."""

    op: ir.Operation
    start: int
    end: int
    scratch_bytes: int = 0
    #: bytes that the scratch memory begins at a multiple of
    scratch_alignment: int = 1
    #: the region of the kernel's ``ttg.warp_specialize`` that this belongs to, 0 for the default one; None: before it
    partition: int | None = None
    #: whether partitions only copy into it, and the default region waits for every copy
    awaited: bool = False

    @property
    def is_scratch(self) -> bool:
        """True if this is scratch memory of an op."""
        return self.scratch_bytes > 0

    def overlaps(self, other: Buffer) -> bool:
        """True if both are live at the same time."""
        if self.partition is not None and other.partition is not None and self.partition != other.partition:
            return True
        if (self.awaited and other.partition) or (other.awaited and self.partition):
            return True
        return self.start <= other.end and other.start <= self.end


@dataclass(frozen=True)
class Lives:
    """``buffers`` and scratch memories of a function in program order; ``loops``: the op numbers that each loop takes."""

    buffers: Sequence[Buffer]
    loops: Mapping[ir.Operation, tuple[int, int]]


def buffers(function: ir.Operation, scratch: ScratchNeeds) -> list[Buffer]:
    """All buffers and scratch memories of ``function`` with their lives, in program order."""
    return list(lives(function, scratch).buffers)


def lives(function: ir.Operation, scratch: ScratchNeeds) -> Lives:
    """The lives of all buffers and scratch memories of ``function``, and its loops."""
    analysis = _Liveness(aliases(function), scratch)
    for block in function.regions[0].blocks:
        analysis.block(block)
    found = sorted([*analysis.allocated.values(), *analysis.scratches], key=lambda b: b.start)
    return Lives(found, analysis.spans)


@dataclass
class _Loop:
    start: int
    touched: set[int] = field(default_factory=set)


@dataclass
class _Liveness:
    aliases: Aliases
    scratch: ScratchNeeds
    number: int = 0
    loops: list[_Loop] = field(default_factory=list)
    allocated: dict[int, Buffer] = field(default_factory=dict)
    scratches: list[Buffer] = field(default_factory=list)
    partition: int | None = None
    #: buffers that dots, or copies for them, may be reading; and those of them whose end a barrier in memory tells
    under_way: set[int] = field(default_factory=set)
    told: set[int] = field(default_factory=set)
    spans: dict[ir.Operation, tuple[int, int]] = field(default_factory=dict)

    def block(self, block: ir.Block) -> None:
        for view in block:
            op = view.operation
            self.number += 1
            self.op(op)

    def op(self, op: ir.Operation) -> None:
        for index in self.used(op):
            if self.touch(index) and reads_beside(op):
                self.under_way.add(index)
                if not isa(op, WarpGroupDotOp) or isinstance(Dot(op).c.type, MemDescType):
                    self.told.add(index)
        if len(op.regions) and self.control(op):
            return
        if allocates_shared(op):
            (index,) = self.aliases.of[op.results[0]]
            awaited = AWAITED in op.attributes
            self.allocated[index] = Buffer(
                op, self.number, self.number, partition=self.partition, awaited=awaited
            )
        elif isa(op, WarpGroupDotWaitOp):
            self.dots_done(op)
        elif isa(op, WaitBarrierOp):
            for index in self.told:
                self.touch(index)
        elif size := self.scratch.bytes(op):
            alignment = self.scratch.alignment(op)
            self.scratches.append(Buffer(op, self.number, self.number, size, alignment, self.partition))

    def control(self, op: ir.Operation) -> bool:
        """Go through the regions of ``op``; whether it is known in what order they run."""
        if is_loop(op):
            self.loop(op)
        elif isa(op, WarpSpecializeOp):
            self.partitions(op)
        elif is_control(op):
            for block in region_blocks(op):
                self.block(block)
        else:
            return False
        return True

    def used(self, op: ir.Operation) -> list[int]:
        """The buffers that an op's operands may stand for."""
        of = self.aliases.of
        return [index for value in op.operands if value in of for index in of[value]] if of else []

    def touch(self, index: int) -> bool:
        """The buffer lives up to here; False if it is none whose life ends by that."""
        buffer = self.allocated.get(index)
        if buffer is None or (buffer.awaited and self.partition):
            return False
        buffer.end = max(buffer.end, self.number)
        for loop in self.loops:
            loop.touched.add(index)
        return True

    def dots_done(self, wait: ir.Operation) -> None:
        """Until here, dots have read."""
        for index in self.under_way:
            self.touch(index)
        if ir.IntegerAttr(wait.attributes["pendings"]).value == 0:
            self.under_way.clear()
            self.told.clear()

    def loop(self, op: ir.Operation) -> None:
        loop = _Loop(self.number)
        self.loops.append(loop)
        carried: set[int] = set()
        for block in region_blocks(op):
            self.block(block)
            for value in terminator(block).operands:
                carried |= self.aliases.of.get(value, frozenset())
        self.loops.pop()
        self.spans[op] = (loop.start, self.number)
        for index in loop.touched | carried:
            buffer = self.allocated[index]
            if buffer.start < loop.start or index in carried:
                buffer.start = min(buffer.start, loop.start)
                buffer.end = max(buffer.end, self.number)

    def partitions(self, op: ir.Operation) -> None:
        span = _Loop(self.number)
        self.loops.append(span)
        for number, block in enumerate([default_block(op), *partition_blocks(op)]):
            self.partition = number
            self.block(block)
        self.partition = 0
        self.loops.pop()
        for index in span.touched:
            buffer = self.allocated[index]
            if buffer.start < span.start and not buffer.awaited:
                buffer.end = max(buffer.end, self.number)
