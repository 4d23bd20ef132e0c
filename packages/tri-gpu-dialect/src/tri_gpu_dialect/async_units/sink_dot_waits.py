"""Lets dots that run on their own do so: they are waited for right before their results are used.

    s = dot(a, b, c); s = wait(s, 0); x = ...; y = s + x        ->   s = dot(a, b, c); x = ...; s = wait(s, 0); y = s + x

A dot whose result only the next iteration uses stays under way into it, in loops whose stages allow that (the pass
``pipeline`` has given them the attribute ``ttg.late_dots``).  Where the next iteration's dot alone adds to it:

    for: t = dot(a, b, t); t = wait(t, 0); yield t     ->   if lower < upper: for: t = dot(a, b, t); wait(1); yield t
                                                                              t = wait(t, 0)

so that one dot is started before the last one ends, before copies that the dots of the iteration before must not read any more;
elsewhere the wait stands before the first use in the next iteration.  A dot that reads registers which each iteration writes anew is waited for in its own, and so is one whose
sums are narrower than registers.  After the loop all is waited for, where the loop has run: behind a join with the way around
the loop, an assembler would have to wait everywhere.  Loops that ``pipeline-chained-dots`` has ordered stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.ir.regions import For
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect.analysis.carried_dots import (
    carried_dots,
    frees_buffers,
    is_fresh,
    reads_what_stays,
    releases_stage,
)
from tri_gpu_dialect.dialect import (
    ArriveBarrierOp,
    LocalDeallocOp,
    WarpGroupDotOp,
    WarpGroupDotWaitOp,
)
from tri_gpu_dialect.dialect.markers import LATE, PLACED
from tri_gpu_dialect.edit import (
    all_ops,
    ancestor_in,
    block_ops,
    buffer_of,
    copies_to_shared,
    functions,
    terminator,
)
from tri_gpu_dialect.transforms.pipeline.loop_guards import end_of, guard, runs_surely

__all__ = ["SinkDotWaits"]

_WAIT = WarpGroupDotWaitOp.OPERATION_NAME


@dataclass(frozen=True)
class SinkDotWaits(Pass):
    """See the module; runs after ``pipeline``."""

    name: ClassVar[str] = "sink-dot-waits"
    former_names: ClassVar[tuple[str, ...]] = ("overlap-dots",)

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Move the waits of every function of ``module``."""
        for function in functions(module):
            for loop in [op for op in all_ops(function) if isa(op, For) and LATE in op.attributes]:
                _overlap_iterations(loop)
                del loop.attributes[LATE]
            for wait in [op for op in all_ops(function) if isa(op, WarpGroupDotWaitOp) and is_fresh(op)]:
                if PLACED not in wait.parent.operation.attributes:
                    _delay(wait)
            for loop in [op for op in all_ops(function) if PLACED in op.attributes]:
                del loop.attributes[PLACED]


def _pendings(count: int) -> dict[str, ir.Attribute]:
    return {"pendings": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), count)}


def _wait(values: Sequence[ir.Value], pendings: int) -> list[ir.Value]:
    """A wait here that gives ``values``, which may be of several types: one op for each of them."""
    return [
        ir.Operation.create(_WAIT, results=[v.type], operands=[v], attributes=_pendings(pendings)).results[0]
        for v in values
    ]


# --- within a block ---------------------------------------------------------------------------------------


def _delay(wait: ir.Operation) -> None:
    """Move ``wait`` (with what frees its dots' buffers) before the first op that uses what it gives.

    It passes waits for dots that were started before its own: those leave its dots under way from then on.
    """
    ops = block_ops(wait.block)
    place = ops.index(wait)
    users = {ancestor_in(use.owner.operation, wait.block) for r in wait.results for use in r.uses}
    read = {buffer_of(v) for dot in _named(wait) for v in (*list(dot.operands)[:2], *list(dot.operands)[4:])}
    freed: list[ir.Operation] = []
    passed: list[ir.Operation] = []
    for op in ops[place + 1 :]:
        if op == ops[place + 1 + len(freed)] and (isa(op, LocalDeallocOp) or releases_stage(op)):
            freed.append(op)
            continue
        if frees_buffers(op) and read & {buffer_of(v) for v in op.operands}:
            freed.append(op)
            continue
        # what has regions may wait, or start dots: nothing is known of how many are under way behind it
        if (
            op in users
            or len(op.regions)
            or op == ops[-1]
            or (isa(op, ArriveBarrierOp) and len(op.operands) < 2)
        ):
            break
        if isa(op, WarpGroupDotWaitOp):
            if not _is_for_earlier(op, wait, ops):
                break
            passed.append(op)
    if op == ops[place + 1 + len(freed)]:
        return
    wait.move_before(op)
    for each in freed:
        each.move_before(op)
    for each in [*passed, wait]:
        each.attributes["pendings"] = _pendings(_started_since(each))["pendings"]


def _named(wait: ir.Operation) -> list[ir.Operation]:
    """The dots whose accumulators ``wait`` gives."""
    owners = [v.owner for v in wait.operands if not isinstance(v.owner, ir.Block)]
    return [owner.operation for owner in owners if isa(owner.operation, WarpGroupDotOp)]


def _started_since(wait: ir.Operation) -> int:
    """The dots of the block of ``wait`` that are started between those that it names and itself."""
    ops = block_ops(wait.block)
    last = max(ops.index(dot) for dot in _named(wait))
    return sum(isa(op, WarpGroupDotOp) for op in ops[last + 1 : ops.index(wait)])


def _is_for_earlier(other: ir.Operation, wait: ir.Operation, ops: Sequence[ir.Operation]) -> bool:
    """True if ``other`` names only dots started before those of ``wait``, and each dot before it has a wait
    of its own.
    """
    named, own = _named(other), _named(wait)
    if not named or len(named) != len(other.operands) or any(dot.block != wait.block for dot in named):
        return False
    before = ops[: ops.index(other)]
    waited = [dot for op in ops if isa(op, WarpGroupDotWaitOp) for dot in _named(op)]
    if any(isa(op, WarpGroupDotOp) and op not in waited for op in before):
        return False
    return max(map(ops.index, named)) < min(map(ops.index, own))


# --- into the next iteration ------------------------------------------------------------------------------


def _overlap_iterations(loop: ir.Operation) -> None:
    """Leave the carried dots of ``loop`` under way at its end."""
    body = loop.regions[0].blocks[0]
    found = [(each, reads_what_stays(each.dot, body)) for each in carried_dots(loop)]
    for each, stays in found:
        if not stays:
            why = "it reads registers that each iteration writes anew"
            declined(SinkDotWaits.name, each.dot, "the dot is waited for in its own iteration: {}", why)
    carried = [each for each, stays in found if stays]
    if not carried:
        return
    for each in carried:
        terminator(body).operands[each.index] = each.dot.results[0]
        each.wait.erase()
        if not each.only_adds:
            _wait_before_use(body, body.arguments[1 + each.index])
    if any(each.only_adds for each in carried):
        ops = block_ops(body)
        last = max(i for i, op in enumerate(ops) if isa(op, WarpGroupDotOp))
        at = next((op for op in ops[last:] if copies_to_shared(op)), terminator(body))
        dots = sum(isa(op, WarpGroupDotOp) for op in ops)
        ir.Operation.create(
            _WAIT, attributes=_pendings(dots), ip=ir.InsertionPoint(at), loc=carried[-1].dot.location
        )
    _drain(loop, [each.index for each in carried])


def _wait_before_use(body: ir.Block, value: ir.Value) -> None:
    """Wait for ``value``, which is loop-carried, before its first use in ``body``."""
    users = {ancestor_in(use.owner.operation, body) for use in value.uses}
    started = 0
    for op in block_ops(body):
        if op in users:
            with ir.InsertionPoint(op), op.location:
                uses = [(use.owner.operation, use.operand_number) for use in value.uses]
                (done,) = _wait([value], started)
            for user, number in uses:
                user.operands[number] = done
            return
        started += sum(isa(inner, WarpGroupDotOp) for inner in all_ops(op))


def _drain(loop: ir.Operation, indices: Sequence[int]) -> None:
    """Wait for results ``indices`` of ``loop`` after it, where it has run."""
    if runs_surely(loop):
        with ir.InsertionPoint.after(loop), loop.location:
            _hand_on(loop, indices)
        return
    guarded, used = guard(loop)
    end = end_of(guarded)
    for number, i in enumerate(used):
        end.operands[number] = loop.results[i]
    loop.move_before(end)
    with ir.InsertionPoint(end), loop.location:
        _hand_on(loop, indices)


def _hand_on(loop: ir.Operation, indices: Sequence[int]) -> None:
    """Wait here for results ``indices`` of ``loop``, and have their users use what the wait gives."""
    for i in indices:
        result = loop.results[i]
        uses = [(use.owner.operation, use.operand_number) for use in result.uses]
        (done,) = _wait([result], 0)
        for user, number in uses:
            user.operands[number] = done
