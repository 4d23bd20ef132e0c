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
from collections.abc import Sequence
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import FuncOp
from tri_core.ir.regions import For, If
from tri_core.ir.traits import is_view, source_of
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect.async_units.analysis.dot_stages import DotStages, dot_stages
from tri_gpu_dialect.async_units.analysis.fused_loop_schedule import between, forwarded_alike
from tri_gpu_dialect.async_units.analysis.slicing import Refusal
from tri_gpu_dialect.dialect import WarpGroupDotOp, WarpGroupDotWaitOp, WarpSpecializeOp
from tri_gpu_dialect.dialect.markers import LATE, PLACED
from tri_gpu_dialect.dialect.partitions import default_registers
from tri_gpu_dialect.edit import all_ops, ancestor_in, functions
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.transforms.pipeline.expander import Expander, Part
from tri_gpu_dialect.transforms.pipeline.loop_guards import end_of, guard, runs, runs_surely
from tri_gpu_dialect.transforms.pipeline.schedule import Place, Schedule

__all__ = ["PipelineChainedDots"]

logger = logging.getLogger(__name__)


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
                _rewrite(stages)
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
        """Refusal if it takes more registers than there are; None otherwise."""
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
    declined(PipelineChainedDots.name, refusal.op, "no dot is started an iteration late: {}", refusal.reason)


# --- two loops after each other -----------------------------------------------------------------------------


def _joined(one: DotStages, other: DotStages) -> bool:
    """Rewrite two loops so that the last late stage of the first is beside the first early one of the second, if they allow it."""
    moved, order = between(one.loop, other.loop), forwarded_alike(one, other)
    if moved is None or order is None:
        return False
    for op in moved:
        op.move_before(one.loop)
    first, second = _expander(one), _expander(other)
    inits = For(one.loop).inits
    with ir.InsertionPoint(other.loop), other.loop.location:
        each = [runs(one.loop), runs(other.loop)]
        either = ir.Operation.create("arith.ori", results=[each[0].type], operands=each).results[0]
    guarded, used = guard(other.loop, either)
    end = end_of(guarded)
    with ir.InsertionPoint(end), other.loop.location:
        carried = _begun(first, second, each, inits, [order[value] for value in second.forwarded])
        results = second.epilogue(list(second.kernel(carried).results))
    for number, i in enumerate(used):
        end.operands[number] = results[i]
    other.loop.erase()
    for old, new in zip(one.loop.results, inits, strict=True):
        old.replace_all_uses_with(new)
    one.loop.erase()
    return True


def _begun(
    first: Expander,
    second: Expander,
    each: Sequence[ir.Value],
    inits: Sequence[ir.Value],
    sent: Sequence[ir.Value],
) -> list[ir.Value]:
    """All that comes before the steady loop of ``second``, here; gives what that carries.

    if the first one runs:   it, but for its last late stage;   if the second one runs: its first early stage beside that
    else:                    the second one's first early stage

    ``sent``: what the first one forwards, in the order in which the second one forwards the like.
    """
    count, numbers = len(inits), [first.forwarded.index(value) for value in sent]
    types = [*(v.type for v in inits), *(v.type for v in second.forwarded)]
    ran = ir.Operation.create(If.OPERATION_NAME, results=types, operands=[each[0]], regions=2)
    with ir.InsertionPoint(ran.regions[0].blocks.append()):
        made = list(first.kernel(first.prologue(inits)).results)
        left = [*made[:count], *(made[count + i] for i in numbers)]
        both = ir.Operation.create(If.OPERATION_NAME, results=types, operands=[each[1]], regions=2)
        ir.Operation.create("scf.yield", operands=list(both.results))
    with ir.InsertionPoint(both.regions[0].blocks.append()):
        ir.Operation.create("scf.yield", operands=second.iteration(second.loop.lower, left))
    with ir.InsertionPoint(both.regions[1].blocks.append()):
        ir.Operation.create("scf.yield", operands=left)
    with ir.InsertionPoint(ran.regions[1].blocks.append()):
        ir.Operation.create("scf.yield", operands=second.prologue(inits))
    return list(ran.results)


# --- the schedule -------------------------------------------------------------------------------------------


#: clusters of the new loop: up to the first dot, late ops that start beside it, what goes on meanwhile, the late stage's end, packing
_FIRST, _FRONT, _REST, _BACK, _PACK = range(5)


def _schedule(stages: DotStages) -> Schedule:
    """The stages, and the order in which the new loop has their ops: the early one of an iteration around the late one of that before."""
    places: dict[ir.Operation, Place] = {}
    cut, front = stages.first_dot, stages.late_front
    for i, op in enumerate(stages.ops):
        if i in stages.late:
            places[op] = Place(1, _FRONT if i in front else _BACK)
        elif i <= cut:
            places[op] = Place(0, _FIRST)
        else:
            places[op] = Place(0, _PACK if i in stages.packs else _REST)
    return Schedule(stages.loop, places, 2, counted=0)


def _expander(stages: DotStages) -> Expander:
    """Writes the loop of ``stages`` anew, where it has an iteration."""
    schedule = _schedule(stages)
    first = stages.ops[stages.first_dot].results[0]
    beside = sum(isa(stages.ops[i], WarpGroupDotOp) for i in stages.late_front)
    pendings = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), beside)

    def leave_under_way(op: ir.Operation, made: ir.Operation, part: Part) -> None:
        # the late dots that were started behind the first one are not waited for with it
        waits = part is Part.KERNEL and isa(op, WarpGroupDotWaitOp) and schedule.places[op].cluster == _REST
        if waits and source_of(op) == first:
            made.attributes["pendings"] = pendings

    return Expander(
        schedule,
        peel=True,
        guarded=True,
        annotate=leave_under_way,
        attributes={PLACED: ir.UnitAttr.get()},
        without=(LATE,),
    )


def _rewrite(stages: DotStages) -> None:
    """Replace the loop of ``stages``, in a branch where it may not run."""
    loop = stages.loop
    if runs_surely(loop):
        _expander(stages).run()
        return
    guarded, used = guard(loop)
    end = end_of(guarded)
    expander = _expander(stages)
    with ir.InsertionPoint(end), loop.location:
        results = expander.written(For(loop).inits)
    for number, i in enumerate(used):
        end.operands[number] = results[i]
    loop.erase()
