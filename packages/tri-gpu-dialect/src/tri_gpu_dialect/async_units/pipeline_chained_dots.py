"""Two dots in flight: one that reads what another gave is started one iteration late, beside the next iteration's other.

    for i: s = dot(q, k[i]); p = f(wait(s)); acc = wait(dot(p, v[i], acc * a))

becomes, where the loop runs at all,

    s = dot(q, k[0]); p, a = f(wait(s))
    for i from 1: s = dot(q, k[i]); t = dot(p, v[i - 1], acc * a); p', a = f(wait(s, 1)); acc = wait(t, 0); p = pack(p')
    acc = wait(dot(p, v[n - 1], acc * a))

so that the matrix unit works while ``f`` is computed.  It is a modulo schedule of two stages that overlap by one iteration
(Rau, Iterative modulo scheduling, 1994): :mod:`tri_gpu_dialect.async_units.analysis.dot_stages` says what is in the second, and when that may
not be.  What an operand in registers is packed from waits for the dot that still reads the registers of the one before.

Two loops after each other with the same late stage are one schedule: the last of the first is beside the first early stage of the second
(:mod:`tri_gpu_dialect.async_units.analysis.fused_loop_schedule`).

Loops that would take more registers than a thread has stay as they are; so do others, and the log says why.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import FuncOp
from tri_core.ir.regions import For, If
from tri_core.ir.traits import is_view, source_of
from tri_core.ir.views import isa
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_gpu_dialect.async_units.analysis.dot_stages import DotStages, dot_stages
from tri_gpu_dialect.async_units.analysis.fused_loop_schedule import between, forwarded_alike
from tri_gpu_dialect.async_units.analysis.slicing import Refusal
from tri_gpu_dialect.dialect import WarpGroupDotOp, WarpGroupDotWaitOp, WarpSpecializeOp
from tri_gpu_dialect.dialect.markers import LATE
from tri_gpu_dialect.dialect.partitions import default_registers
from tri_gpu_dialect.edit import all_ops, ancestor_in, functions, terminator
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.transforms.pipeline.loop_guards import end_of, guard, runs, runs_surely

__all__ = ["PLACED", "PipelineChainedDots"]

logger = logging.getLogger(__name__)

#: the attribute of loops whose waits for dots are where they should be
PLACED = "ttg.placed_waits"

_Known = Mapping[ir.Value, ir.Value]


@dataclass(frozen=True)
class PipelineChainedDots(Pass):
    """See the module; within the registers of a thread.  Runs before ``sink-dot-waits``.

    ``policy.async_units.pipeline_chained_dots`` may be True (in all loops), None (in those of consumers, beside a producer) or False; ``registers`` beside it
    says how many registers a thread has where ``ttg.warp_specialize`` does not.
    """

    name: ClassVar[str] = "pipeline-chained-dots"
    former_names: ClassVar[tuple[str, ...]] = ("delay-dots",)

    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the loops of every function of ``module``."""
        wanted = self.policy.async_units.pipeline_chained_dots
        if wanted is False:
            return
        for function in functions(module):
            loops = [op for op in all_ops(function) if isa(op, For) and _has_dots(op)]
            self.loops([loop for loop in loops if wanted or isa(_around(loop), WarpSpecializeOp)])

    def loops(self, loops: list[ir.Operation]) -> None:
        """Rewrite ``loops``, or say why not; two that follow each other together, where they can be."""
        while loops:
            stages, follows = self.stages(loops.pop(0)), None
            if stages is not None and loops and between(stages.loop, loops[0]) is not None:
                follows = self.stages(loops[0])
            if stages is None:
                continue
            if follows is None or not _joined(stages, follows):
                _Schedule(stages).run()
            else:
                loops.pop(0)

    def stages(self, loop: ir.Operation) -> DotStages | None:
        """The two stages of ``loop``; None, and why in the log, where it stays as it is."""
        found = dot_stages(loop)
        while isinstance(found, DotStages) and _parted_views(found):
            found = dot_stages(loop)
        if isinstance(found, DotStages):
            found = self.refused(found, _around(loop)) or found
        if isinstance(found, Refusal):
            _tell(found)
            return None
        return found

    def refused(self, stages: DotStages, around: ir.Operation) -> Refusal | None:
        """Whether it takes more registers than there are."""
        have = self.policy.async_units.registers
        if isa(around, WarpSpecializeOp):
            have = default_registers(around) or have
        needed = stages.registers + self.policy.async_units.address_registers
        if have is None or needed <= have:
            return None
        text = f"two dots in flight take {needed} registers of a thread, which has {have}"
        return Refusal(text, stages.loop)


def _around(loop: ir.Operation) -> ir.Operation:
    """The function of ``loop``, or the op whose region for consumers it is in."""
    outer = loop.parent.operation
    while not isa(outer, FuncOp, WarpSpecializeOp):
        outer = outer.parent.operation
    return outer


def _has_dots(loop: ir.Operation) -> bool:
    return "unsignedCmp" not in loop.attributes and any(
        isa(op.operation, WarpGroupDotOp) for op in loop.regions[0].blocks[0]
    )


def _parted_views(stages: DotStages) -> bool:
    """Give late ops views of stages of their own, where early ops use them, too; whether there were such views.

    They are then made from the stage's number, which is forwarded as any number is: an address is nothing that a branch gives.
    """
    late = {stages.ops[i] for i in stages.late}
    makers = [v.owner.operation for v in stages.forwarded if not isinstance(v.owner, ir.Block)]
    views = [op for op in makers if is_view(op)]
    for op in views:
        own = op.clone(ip=ir.InsertionPoint(op)).operation.results[0]
        for user, number in [(use.owner.operation, use.operand_number) for use in op.results[0].uses]:
            if ancestor_in(user, op.block) in late:
                user.operands[number] = own
    return bool(views)


def _tell(refusal: Refusal) -> None:
    where = source_location(refusal.op.location)
    line = f" (line {where.line})" if where is not None else ""
    logger.info("dots are not delayed: %s%s", refusal.reason, line)


# --- two loops after each other -----------------------------------------------------------------------------


def _joined(one: DotStages, other: DotStages) -> bool:
    """Rewrite two loops so that the last late stage of the first is beside the first early one of the second, if they allow it."""
    moved, order = between(one.loop, other.loop), forwarded_alike(one, other)
    if moved is None or order is None:
        return False
    for op in moved:
        op.move_before(one.loop)
    first, second = _Schedule(one), _Schedule(other)
    inits = list(one.loop.operands)[3:]
    with ir.InsertionPoint(other.loop), other.loop.location:
        each = [runs(one.loop), runs(other.loop)]
        either = ir.Operation.create("arith.ori", results=[each[0].type], operands=each).results[0]
    guarded, used = guard(other.loop, either)
    end = end_of(guarded)
    with ir.InsertionPoint(end), other.loop.location:
        carried = _begun(first, second, each, inits, order)
        results = second.finished(second.others(carried))
    for number, i in enumerate(used):
        end.operands[number] = results[i]
    other.loop.erase()
    for old, new in zip(one.loop.results, inits, strict=True):
        old.replace_all_uses_with(new)
    one.loop.erase()
    return True


def _begun(
    first: _Schedule,
    second: _Schedule,
    each: Sequence[ir.Value],
    inits: Sequence[ir.Value],
    order: Sequence[int],
) -> list[ir.Value]:
    """All that comes before the steady loop of ``second``, here; gives what that carries.

    if the first one runs:   it, but for its last late stage;   if the second one runs: its first early stage beside that
    else:                    the second one's first early stage
    """
    count = len(inits)
    types = [*(v.type for v in inits), *(v.type for v in second.stages.forwarded)]
    ran = ir.Operation.create(If.OPERATION_NAME, results=types, operands=[each[0]], regions=2)
    with ir.InsertionPoint(ran.regions[0].blocks.append()):
        made = first.others(first.started(inits))
        left = [*made[:count], *(made[count + i] for i in order)]
        both = ir.Operation.create(If.OPERATION_NAME, results=types, operands=[each[1]], regions=2)
        ir.Operation.create("scf.yield", operands=list(both.results))
    with ir.InsertionPoint(both.regions[0].blocks.append()):
        ir.Operation.create("scf.yield", operands=second.beside(left))
    with ir.InsertionPoint(both.regions[1].blocks.append()):
        ir.Operation.create("scf.yield", operands=left)
    with ir.InsertionPoint(ran.regions[1].blocks.append()):
        ir.Operation.create("scf.yield", operands=second.started(inits))
    return list(ran.results)


# --- the schedule -------------------------------------------------------------------------------------------


class _Schedule:
    """Writes a loop anew by its two stages."""

    def __init__(self, stages: DotStages) -> None:
        self.stages = stages
        self.loop = stages.loop
        self.body = self.loop.regions[0].blocks[0]
        self.index, *self.arguments = self.body.arguments
        self.ends = list(terminator(self.body).operands)
        numbers = range(len(stages.ops))
        self.early = [i for i in numbers if i not in stages.late]
        self.late = sorted(stages.late)

    def run(self) -> None:
        """Replace the loop."""
        if runs_surely(self.loop):
            with ir.InsertionPoint(self.loop), self.loop.location:
                results = self.written()
            for old, new in zip(self.loop.results, results, strict=True):
                old.replace_all_uses_with(new)
        else:
            guarded, used = guard(self.loop)
            end = end_of(guarded)
            with ir.InsertionPoint(end), self.loop.location:
                results = self.written()
            for number, i in enumerate(used):
                end.operands[number] = results[i]
        self.loop.erase()

    def written(self) -> list[ir.Value]:
        """The first early stage, the new loop, the last late stage, here; gives the results."""
        return self.finished(self.others(self.started(list(self.loop.operands)[3:])))

    def started(self, inits: Sequence[ir.Value]) -> list[ir.Value]:
        """The first early stage, from ``inits``, here; gives what the new loop carries."""
        known = {self.index: For(self.loop).lower, **dict(zip(self.arguments, inits, strict=True))}
        first = self.copies(self.early, known)
        carried = [
            init if k in self.stages.late_args else first.get(end, end)
            for k, (init, end) in enumerate(zip(inits, self.ends, strict=True))
        ]
        return carried + [first.get(v, v) for v in self.stages.forwarded]

    def beside(self, carried: Sequence[ir.Value]) -> list[ir.Value]:
        """The first early stage around a late one that another loop has left, here; gives what the new loop carries."""
        new = {self.index: For(self.loop).lower, **self.own(carried)}
        return self.iteration(new, self.seen(carried))

    def others(self, carried: Sequence[ir.Value]) -> list[ir.Value]:
        """The new loop, over all iterations but the first, here; gives its results."""
        lower, upper, step = list(self.loop.operands)[:3]
        second = ir.Operation.create("arith.addi", results=[lower.type], operands=[lower, step]).results[0]
        return list(self.steady(second, upper, step, carried).results)

    def finished(self, carried: Sequence[ir.Value]) -> list[ir.Value]:
        """The last late stage, here; gives the results."""
        last = self.copies(self.late, self.seen(carried))
        return [
            last.get(end, end) if k in self.stages.late_args else carried[k]
            for k, end in enumerate(self.ends)
        ]

    def own(self, carried: Sequence[ir.Value]) -> dict[ir.Value, ir.Value]:
        """What early ops know: the carried values that are theirs."""
        return {a: carried[k] for k, a in enumerate(self.arguments) if k not in self.stages.late_args}

    def seen(self, carried: Sequence[ir.Value]) -> dict[ir.Value, ir.Value]:
        """What late ops know: the carried values that are theirs, and what was forwarded."""
        count = len(self.arguments)
        known = {self.arguments[k]: carried[k] for k in self.stages.late_args}
        known.update(zip(self.stages.forwarded, carried[count:], strict=True))
        return known

    def steady(
        self, lower: ir.Value, upper: ir.Value, step: ir.Value, carried: Sequence[ir.Value]
    ) -> ir.Operation:
        """The loop: the early stage of an iteration around the late one of the iteration before."""
        types = [v.type for v in carried]
        kept = {name: self.loop.attributes[name] for name in self.loop.attributes if name != LATE}
        made = ir.Operation.create(
            For.OPERATION_NAME, results=types, operands=[lower, upper, step, *carried], regions=1,
            attributes=kept | {PLACED: ir.UnitAttr.get()},
        )  # fmt: skip
        block = made.regions[0].blocks.append(lower.type, *types)
        index, *inner = block.arguments
        with ir.InsertionPoint(block):
            yielded = self.iteration({self.index: index, **self.own(inner)}, self.seen(inner))
            ir.Operation.create("scf.yield", operands=yielded)
        return made

    def iteration(self, new: dict[ir.Value, ir.Value], old: dict[ir.Value, ir.Value]) -> list[ir.Value]:
        """Start the first dot, then the late one; go on while it is under way; wait for it, and pack."""
        stages, cut = self.stages, self.stages.first_dot
        front = stages.late_front
        new = self.copies([i for i in self.early if i <= cut], new)
        old = self.copies([i for i in self.late if i in front], old)
        started = sum(isa(stages.ops[i], WarpGroupDotOp) for i in front)
        rest = [i for i in self.early if i > cut and i not in stages.packs]
        new = self.copies(rest, new, {stages.ops[cut].results[0]: started})
        old = self.copies([i for i in self.late if i not in front], old)
        new = self.copies(sorted(stages.packs), new)
        ends = [(old if k in stages.late_args else new).get(end, end) for k, end in enumerate(self.ends)]
        return [*ends, *(new.get(v, v) for v in stages.forwarded)]

    def copies(
        self, numbers: Iterable[int], known: _Known, pendings: Mapping[ir.Value, int] | None = None
    ) -> dict[ir.Value, ir.Value]:
        """Copy ops here, with ``known`` values; waits for the dots in ``pendings`` leave so many under way."""
        after = dict(known)
        for op in (self.stages.ops[i] for i in numbers):
            made = op.clone(ip=ir.InsertionPoint.current).operation
            for inner in all_ops(made):
                for i, value in enumerate(list(inner.operands)):
                    if value in after:
                        inner.operands[i] = after[value]
            if isa(op, WarpGroupDotWaitOp) and pendings and source_of(op) in pendings:
                count = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), pendings[source_of(op)])
                made.attributes["pendings"] = count
            after.update(zip(op.results, made.results, strict=True))
        return after
