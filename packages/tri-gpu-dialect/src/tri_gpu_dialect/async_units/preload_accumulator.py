"""Initialise a dot's accumulator with the value that is added to, or subtracted from, its result.

    t = dot(v, g, 0); ...; x = wait(t) - read(delta)      ->      t = dot(v, g, -read(delta)); ...; x = wait(t)

A dot that runs on its own (``ttng.warp_group_dot``) is waited for, and what is read and done to its accumulators then keeps the next dot
waiting, the longer as dots keep shared memory busy.  So a row that came with a block is read before the dot, while others run.  What
comes from outside of the loop is added as it was: it is in registers already, and as many instructions would copy it.

Accumulators that start from something take registers earlier.  Where a thread has too few, rows of indices that masks compare included, they start from zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.ir.effects import ASYNC, READ_GLOBAL, READ_SHARED, WRITE_GLOBAL, has_at_most
from tri_core.ir.rewriting import attributes_of
from tri_core.ir.traits import replicates, source_of
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_core.remarks import declined
from tri_gpu_dialect.analysis.pressure import compared_registers, most_registers, registers_for_tensors
from tri_gpu_dialect.dialect import (
    ArriveBarrierOp,
    LocalLoadOp,
    OrderedBarrierOp,
    WaitBarrierOp,
    WarpGroupDotOp,
    WarpGroupDotWaitOp,
)
from tri_gpu_dialect.edit import all_ops, block_ops, buffer_of, functions, guarded_buffers, make
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy

__all__ = ["PreloadAccumulator"]

#: effects that change no shared memory
_HARMLESS = (READ_GLOBAL, WRITE_GLOBAL, READ_SHARED, ASYNC)


@dataclass(frozen=True)
class PreloadAccumulator(Pass):
    """See the module; ``policy.async_units.registers`` says how many a thread has where ``ttg.warp_specialize`` does not.

    Runs when dots have their places and ordered barriers, behind ``sink-dot-waits`` and ``ping-pong``.
    """

    name: ClassVar[str] = "preload-accumulator"
    former_names: ClassVar[tuple[str, ...]] = ("start-sums",)

    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Give the dots of every function of ``module`` what they start from."""
        for function in functions(module):
            for op in [op for op in all_ops(function) if isa(op, arith.AddFOp, arith.SubFOp)]:
                found = _found(op)
                if found is not None:
                    found.apply(registers_for_tensors(op, self.policy.async_units.registers))


@dataclass(frozen=True)
class _Sum:
    """``op`` adds ``addend`` to, or subtracts it from, the accumulators of ``dot``, which have been ``waited`` for; ``made`` are ops to move."""

    op: ir.Operation
    dot: ir.Operation
    waited: ir.Value
    addend: ir.Value
    made: Sequence[ir.Operation]

    def apply(self, registers: int | None) -> None:
        """Let the dot start from the addend, if a thread has enough ``registers``."""
        new = self.started()
        self.dot.results[0].replace_all_uses_with(new[-1].results[0])
        self.op.results[0].replace_all_uses_with(self.waited)
        if registers is not None and self.most(new) > registers:
            text = "the dot starts from zeros, not from what is added: tensors would take more than {} registers of a thread"
            declined(PreloadAccumulator.name, self.op, text, registers)
            self.waited.replace_all_uses_with(self.op.results[0])
            self.op.operands[self.index] = self.waited
            new[-1].results[0].replace_all_uses_with(self.dot.results[0])
            for each in reversed(new):
                each.erase()
            return
        for each in self.made:
            each.move_before(new[0])
        self.op.erase()
        self.dot.erase()

    @property
    def index(self) -> int:
        """Index of the operand of ``op`` that is the accumulator."""
        return 1 - list(self.op.operands).index(self.addend)

    def started(self) -> list[ir.Operation]:
        """The new dot, and what negates the addend for it."""
        start, new = self.addend, []
        attributes = attributes_of(self.dot)
        with ir.InsertionPoint(self.dot), self.op.location:
            if isa(self.op, arith.SubFOp):
                new.append(make("arith.negf", [start], start.type))
                start = new[0].results[0]
            operands = [*list(self.dot.operands)[:2], start]
            new.append(make(WarpGroupDotOp.OPERATION_NAME, operands, self.dot.results[0].type, **attributes))
        return new

    def most(self, new: Sequence[ir.Operation]) -> int:
        """Registers that tensors take at most if this is done."""
        order = [each for each in block_ops(self.dot.block) if each not in (self.op, self.dot, *self.made)]
        place = order.index(new[0])
        order[place:place] = self.made
        return most_registers(order) + compared_registers(order)


def _found(op: ir.Operation) -> _Sum | None:
    for index in (0, 1) if isa(op, arith.AddFOp) else (0,):
        waited, addend = op.operands[index], op.operands[1 - index]
        dot = _dot_of(waited)
        made = None if dot is None else _made_of(addend, dot)
        if dot is not None and made:
            return _Sum(op, dot, waited, addend, made)
    return None


def _maker(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def _dot_of(value: ir.Value) -> ir.Operation | None:
    """The dot onto zeros whose accumulators ``value`` are behind the wait; nobody else reads them, and all are in one block."""
    wait = _maker(value)
    if wait is None or not isa(wait, WarpGroupDotWaitOp) or len(list(value.uses)) != 1:
        return None
    given = wait.operands[list(wait.results).index(value)]
    dot = _maker(given)
    if dot is None or not isa(dot, WarpGroupDotOp) or dot.block != wait.block or len(list(given.uses)) != 1:
        return None
    return dot if len(more := cast(dot, WarpGroupDotOp).more) == 1 and _is_false(more[0]) else None


def _is_false(value: ir.Value) -> bool:
    """True if ``value``, a dot's flag for accumulating, is the constant false."""
    op = _maker(value)
    return op is not None and isa(op, arith.ConstantOp) and not ir.IntegerAttr(op.attributes["value"]).value


def _made_of(value: ir.Value, dot: ir.Operation) -> list[ir.Operation] | None:
    """The ops behind ``dot`` that make ``value`` of a row read there, in order; None where one may not stand before it."""
    op = _maker(value)
    behind = None if op is None else _between(dot, op)
    if op is None or behind is None:
        return None
    if isa(op, LocalLoadOp):
        source = cast(op, LocalLoadOp).src
        view = _maker(source)
        known = view is None or _between(dot, view) is None
        root = buffer_of(source)
        return [op] if known and not any(_stops(each, root) for each in behind) else None
    found = _made_of(source_of(op), dot) if replicates(op) else None
    return [*found, op] if found else None


def _between(first: ir.Operation, last: ir.Operation) -> list[ir.Operation] | None:
    """The ops of a block between two of it; None where ``last`` does not follow ``first`` there."""
    if first.block != last.block:
        return None
    ops = block_ops(first.block)
    start, end = ops.index(first), ops.index(last)
    return ops[start + 1 : end] if start < end else None


def _stops(op: ir.Operation, root: ir.Value) -> bool:
    """True if a read of the buffer ``root`` may not move across ``op``: it guards the buffer, or may write
    memory.
    """
    if isa(op, WaitBarrierOp, ArriveBarrierOp):
        guarded = guarded_buffers(op)
        return not guarded or root in guarded
    return not isa(op, OrderedBarrierOp) and not has_at_most(op, *_HARMLESS)
