"""Starts dots that do not need each other together, so that one runs while what becomes of the other is computed.

    s = dot(k, q); p = f(wait(s)); t = dot(v, g); x = p * wait(t)
    ->  s = dot(k, q); t = dot(v, g); p = f(wait(s, 1)); x = p * wait(t)

A dot moves up to the first wait for another one behind which nothing is that it needs but views of buffers, numbers and the
arrival of a block (``ttng.wait_barrier``), and before dots that are waited for after it.  What it passes must leave its operands
alone, and the wait for a block never passes an arrival: the producer may be waiting for that one.  A wait leaves under way what
was started after the dots that it names.

Before that, what is read from buffers for anything but dots is read right where it is used, so that it takes no registers before.
A dot's accumulators take registers from where it starts: it stays where tensors would then take more than a thread has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.ir.effects import READ_GLOBAL, READ_SHARED, WRITE_GLOBAL, has_at_most
from tri_core.ir.traits import is_rematerializable, is_view, replicates
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_core.remarks import declined
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.analysis.pressure import most_registers, registers_for_tensors
from tri_gpu_dialect.dialect import (
    ArriveBarrierOp,
    LocalLoadOp,
    WaitBarrierOp,
    WarpGroupDotOp,
    WarpGroupDotWaitOp,
)
from tri_gpu_dialect.edit import all_ops, block_ops, buffer_of, functions, guarded_buffers
from tri_gpu_dialect.encodings import DotOperand
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.types import tensor_info

__all__ = ["HoistAsyncDots"]


@dataclass(frozen=True)
class HoistAsyncDots(Pass):
    """See the module; ``policy.async_units.registers`` says how many a thread has where ``ttg.warp_specialize`` does not.

    Runs behind ``pipeline-chained-dots`` and before ``sink-dot-waits``, while each dot is waited for in its own block.
    """

    name: ClassVar[str] = "hoist-async-dots"
    former_names: ClassVar[tuple[str, ...]] = ("start-dots",)

    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Move the dots of every function of ``module``."""
        for function in functions(module):
            blocks = [b for op in all_ops(function) for region in op.regions for b in region.blocks]
            for block in blocks:
                have = registers_for_tensors(block.owner.operation, self.policy.async_units.registers)
                found = _Block(block, have)
                if found.can_move:
                    found.run()


class _Block:
    """The ops of a block by number, and the ``order`` that they shall have."""

    def __init__(self, block: ir.Block, registers: int | None) -> None:
        self.ops = block_ops(block)
        self.number = {op: i for i, op in enumerate(self.ops)}
        self.order = list(range(len(self.ops)))
        self.dots = [i for i in self.order if isa(self.ops[i], WarpGroupDotOp)]
        self.waits = [i for i in self.order if isa(self.ops[i], WarpGroupDotWaitOp)]
        self.registers = registers

    @property
    def can_move(self) -> bool:
        """True if there are several dots, all started and waited for by the block's own ops, each by a wait
        that names it.
        """
        waited = [dot for w in self.waits for dot in self.named(w)]
        if len(self.dots) < 2 or sorted(waited) != self.dots or not all(map(self.named, self.waits)):
            return False
        inside = (inner for op in self.ops if len(op.regions) for inner in all_ops(op) if inner != op)
        return not any(isa(inner, WarpGroupDotOp, WarpGroupDotWaitOp) for inner in inside)

    def run(self) -> None:
        """Move what can be, and say at each wait how many dots may be under way."""
        for op in reversed(self.ops):
            if isa(op, LocalLoadOp) and not isinstance(encoding_of(op.results[0]), DotOperand):
                self.read_late(self.number[op])
        for dot in self.dots[1:]:
            self.start_early(dot)
        if self.order == sorted(self.order):
            return
        counts = {w: self.left(w) for w in self.waits}
        end = self.ops[-1]
        for i in self.order[:-1]:
            self.ops[i].move_before(end)
        for w, count in counts.items():
            self.ops[w].attributes["pendings"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), count)

    def read_late(self, read: int) -> None:
        """Put ``read``, with what copies its elements, before its first user: registers hold it for a shorter time.

        If a wait for a dot comes before that, and registers suffice, the read stands before the wait: it is done by then.
        """
        root, start = buffer_of(cast(self.ops[read], LocalLoadOp).src), self.order.index(read)
        moving, place = {read}, start
        for i in self.order[start + 1 :]:
            op, place = self.ops[i], place + 1
            if any(self.maker(v) in moving for inner in all_ops(op) for v in inner.operands):
                if not replicates(op):
                    break
                moving.add(i)
            elif not _may_be_passed(op) or (isa(op, ArriveBarrierOp) and _frees(op, root)):
                break
        waits = [at for at in range(start + 1, place) if isa(self.ops[self.order[at]], WarpGroupDotWaitOp)]
        before = waits[-1] if waits else place
        ahead, at_use = (self.placed(moving, start, end) for end in (before, place))
        is_free = self.registers is None or self.most(ahead) <= self.registers
        self.order = ahead if is_free else at_use

    def placed(self, moving: set[int], start: int, place: int) -> list[int]:
        """The order with the ops ``moving``, from place ``start`` on, right before ``place``."""
        between = self.order[start:place]
        front = [i for i in between if i not in moving]
        behind = [i for i in self.order[start:] if i in moving]
        rest = [i for i in self.order[place:] if i not in moving]
        return [*self.order[:start], *front, *behind, *rest]

    def start_early(self, dot: int) -> None:
        """Put ``dot`` before the first wait where it may stand, and before dots that are waited for after it."""
        place, lacks = self.order.index(dot), False
        for at in range(place):
            other = self.order[at]
            is_later = other in self.dots and self.waited(other) > self.waited(dot)
            if not isa(self.ops[other], WarpGroupDotWaitOp) and not is_later:
                continue
            order = self.moved(dot, at)
            if order is None:
                continue
            if self.registers is None or self.most(order) <= self.registers:
                self.order = order
                return
            lacks = True
        if lacks:
            text = "the dot is not started beside the one before: tensors would take more than {} registers of a thread"
            declined(HoistAsyncDots.name, self.ops[dot], text, self.registers)

    def most(self, order: Sequence[int]) -> int:
        return most_registers([self.ops[i] for i in order])

    def moved(self, dot: int, at: int) -> list[int] | None:
        """The order with ``dot``, and what it needs, at place ``at``; None where that may not be."""
        between = self.order[at : self.order.index(dot)]
        needed = self.needed(dot, set(between))
        if needed is None:
            return None
        passed = [i for i in between if i not in needed]
        if any(isa(self.ops[i], WaitBarrierOp) for i in needed) and any(
            isa(self.ops[i], ArriveBarrierOp) for i in passed
        ):
            return None
        if not all(_may_be_passed(self.ops[i]) for i in passed):
            return None
        moving = [i for i in [*between, dot] if i in needed or i == dot]
        return [*self.order[:at], *moving, *passed, *self.order[at + len(between) + 1 :]]

    def needed(self, dot: int, between: set[int]) -> set[int] | None:
        """Those of the ops ``between`` that ``dot`` needs; None where one may not move."""
        found: set[int] = set()
        buffers = {buffer_of(v) for v in self.ops[dot].operands if tensor_info(v.type) is None}
        ahead = [dot]
        for i in between:
            op = self.ops[i]
            if isa(op, WaitBarrierOp):
                guarded = set(guarded_buffers(op))
                if not guarded or guarded & buffers:
                    ahead.append(i)
        while ahead:
            i = ahead.pop()
            if i in found or (i not in between and i != dot):
                continue
            if i != dot and not _may_move(self.ops[i]):
                return None
            found.add(i)
            ahead += [n for v in self.ops[i].operands if (n := self.maker(v)) is not None]
        return found - {dot}

    def maker(self, value: ir.Value) -> int | None:
        return None if isinstance(value.owner, ir.Block) else self.number.get(value.owner.operation)

    def named(self, wait: int) -> list[int]:
        """The dots whose accumulators ``wait`` gives."""
        makers = [self.maker(v) for v in self.ops[wait].operands]
        return [i for i in makers if i is not None and isa(self.ops[i], WarpGroupDotOp)]

    def waited(self, dot: int) -> int:
        """The place of the wait for ``dot``."""
        return next(self.order.index(w) for w in self.waits if dot in self.named(w))

    def left(self, wait: int) -> int:
        """Number of dots that may be in flight at ``wait``: those started after the ones it names, which have
        waits of their own.
        """
        started = [i for i in self.order[: self.order.index(wait)] if i in self.dots]
        return len(started) - 1 - max(started.index(d) for d in self.named(wait))


def _may_move(op: ir.Operation) -> bool:
    """True if ``op`` needs few registers and may be scheduled earlier."""
    if isa(op, WaitBarrierOp) or isa(op, arith.ConstantOp) or is_view(op):
        return True
    return is_rematerializable(op) and all(tensor_info(r.type) is None for r in op.results)


def _frees(arrive: ir.Operation, root: ir.Value) -> bool:
    """True if ``arrive`` releases a stage of ``root``."""
    guarded = guarded_buffers(arrive)
    return not guarded or root in guarded


def _may_be_passed(op: ir.Operation) -> bool:
    return isa(op, WarpGroupDotOp, WarpGroupDotWaitOp, WaitBarrierOp, ArriveBarrierOp) or has_at_most(
        op, READ_GLOBAL, WRITE_GLOBAL, READ_SHARED
    )
