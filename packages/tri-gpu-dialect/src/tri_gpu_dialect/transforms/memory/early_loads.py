"""Loads of a few registers in a loop are issued before threads wait for each other, not behind.

    x = load p                               x = load p
    x' = convert_layout x                    y = load q
    y = load q                 becomes       x' = convert_layout x
    y' = convert_layout y                    y' = convert_layout y

A conversion or a reduction through shared memory waits for its operand, and no load moves over the barrier in it: what is loaded behind has its latency
after that of the operand.  In a recurrence, which loads rows in each step and does little with them, latencies of memory
are most of a step's time.  Loops with dots, whose loads are pipelined and whose registers are full, stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from tri_core.dialects.tt import DotOp, LoadOp, ReduceOp, ScanOp
from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.regions import is_loop
from tri_core.ir.traits import is_pure
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.pressure import registers_of
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.edit import block_ops
from tri_gpu_dialect.plans.scratch import ScratchMeasures

__all__ = ["issue_loads_early"]

#: registers of a thread that a load may have to stand earlier: a vector of the widest access
_FEW = 4

#: ops, beside pure ones, that no memory which a load reads is written by
_PASSED = (LoadOp, ReduceOp, ScanOp, ConvertLayoutOp)


def issue_loads_early(block: ir.Block, measures: ScratchMeasures) -> None:
    """Move loads of ``block``, and what their addresses are computed with, before ops that take shared memory while they run (``measures``).

    Only the body of a loop without dots is changed.
    """
    ops = block_ops(block)
    if not is_loop(block.owner) or any(isa(op, DotOp) for op in ops):
        return
    waiting: ir.Operation | None = None
    behind: dict[ir.Value, ir.Operation] = {}
    for op in ops:
        if not _is_passed(op):
            waiting, behind = None, {}
            continue
        if waiting is None and isa(op, *_PASSED) and measures.bytes(op):
            waiting = op
        if waiting is None:
            continue
        moved = _address(op, behind) if isa(op, LoadOp) and _is_short(op) else None
        if moved is None:
            behind.update(dict.fromkeys(op.results, op))
            continue
        for each in (*moved, op):
            each.move_before(waiting)
            for result in each.results:
                behind.pop(result, None)


def _is_passed(op: ir.Operation) -> bool:
    """True if a load may be issued before ``op``, which precedes it."""
    if isa(op, LoadOp):
        return not reads_again(op)
    return isa(op, *_PASSED) or (is_pure(op) and not len(op.regions))


def _is_short(load: ir.Operation) -> bool:
    """True if the result of ``load`` takes few registers per thread."""
    return registers_of(load.results[0]) <= _FEW


def _address(load: ir.Operation, behind: Mapping[ir.Value, ir.Operation]) -> list[ir.Operation] | None:
    """The ops among ``behind`` that ``load`` needs, in order; None where it needs what was loaded or waited for."""
    found: dict[ir.Value, ir.Operation] = {}
    todo = list(load.operands)
    while todo:
        value = todo.pop()
        op = behind.get(value)
        if op is None or value in found:
            continue
        if isa(op, *_PASSED):
            return None
        found[value] = op
        todo += op.operands
    return [op for value, op in behind.items() if value in found]
