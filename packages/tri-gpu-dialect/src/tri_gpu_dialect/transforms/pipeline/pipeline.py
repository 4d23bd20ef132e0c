"""Software pipelining: loads that dots depend on are issued iterations ahead, as asynchronous copies to shared memory.

    for i: x = load(p(i)); y = dot(x, ...)          num_stages = 3

becomes

    buffer of 3 stages; copy(p(0)) -> stage 0; copy(p(1)) -> stage 1
    for i: wait for the copy of i; copy(p(i + 2)) -> stage (i + 2) % 3; x = stage i % 3; y = dot(x, ...)
    wait for all copies

Dots that run on their own read their stages where they are.  Where such a dot may stay under way into the next iteration
(see :mod:`tri_gpu_dialect.async_units.sink_dot_waits`), there is one more stage, where that costs no CTA on a compute unit (see
:mod:`tri_gpu_dialect.transforms.pipeline.rings`).

Copies past the last iteration are masked off.  The stage that a copy goes to was read one iteration before, so the
barrier that comes with the wait is the only one; but for loads with one stage fewer, whose copies follow what reads the stage.  Rows of elements beside the matrices (maxima and sums of attention, say) are copied by neighbouring lanes, each element
once, however many threads read it: their addresses are computed again in that layout.  What addresses and masks are computed from runs ahead with
values of its own (see :mod:`tri_gpu_dialect.analysis.pipelined_loads`); what only the loads needed goes.  Loads that addresses are computed from
come an iteration before these (see :mod:`tri_gpu_dialect.transforms.pipeline.address_loads`).  Of loops without dots rows and numbers come ahead
where a matrix is carried (see :mod:`tri_gpu_dialect.transforms.pipeline.recurrences`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import ClassVar

from tri_core.api import Pass, StageContext, Target
from tri_core.ir.regions import For, is_loop
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes.loops import known_trips
from tri_core.remarks import declined
from tri_gpu_dialect.analysis import axis_info
from tri_gpu_dialect.analysis.liveness import lives
from tri_gpu_dialect.analysis.pipelined_loads import PipelinedLoads, obstacle, pipelined_loads
from tri_gpu_dialect.edit import all_ops, block_ops, functions, module_int, stages_of
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.policies.loads import LoadStrategy
from tri_gpu_dialect.remarks import add_remark
from tri_gpu_dialect.transforms.pipeline.address_loads import load_addresses_ahead
from tri_gpu_dialect.transforms.pipeline.pipelined_loop import PipelinedLoop, staged
from tri_gpu_dialect.transforms.pipeline.recurrences import (
    hold_numbers_ahead,
    is_recurrence,
    is_row_of_recurrence,
)
from tri_gpu_dialect.transforms.pipeline.rings import Room
from tri_gpu_dialect.transforms.pipeline.spread_rows import spread_rows

__all__ = ["Pipeline"]

_Suits = Callable[[ir.Operation], bool]


@dataclass(frozen=True)
class Pipeline(Pass):
    """See the module; ``num_stages`` iterations at once, unless a loop's ``tt.num_stages`` says otherwise.

    ``policy.pipeline.loads`` says how loads reach their use, and in how many stages at most
    (:mod:`tri_gpu_dialect.transforms.pipeline.strategies`); without it nothing is done.  Of a loop that loads operands of dots and gets
    fewer stages than that, or is left as it is, a remark says why, with the bytes of shared memory that it lacks.  Raises PluginError
    where the target's memories cannot serve the strategy, OutOfResources where not those stages fit that it demands.
    """

    name: ClassVar[str] = "pipeline"

    num_stages: int = 3
    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the innermost loops of every function of ``module``."""
        strategy = self.policy.pipeline.loads
        target = context.target if context is not None else None
        if strategy is None:
            return
        strategy.check(target)
        warps = module_int(module, "ttg.num-warps")
        for function in functions(module):
            if self.policy.pipeline.recurrences:
                self.spread(function)
            loops, plans, suits = self.plans(function, strategy)
            changed = [
                self.has_addresses_ahead(loop, plan) or self.has_numbers_ahead(loop, plan, target, warps)
                for loop, plan in zip(loops, plans, strict=True)
            ]
            if any(changed):
                loops, plans, suits = self.plans(function, strategy)
            for loop, plan in zip(loops, plans, strict=True):
                if (
                    plan is None
                    and stages_of(loop, self.num_stages) > 1
                    and (why := obstacle(loop, suits)) is not None
                ):
                    add_remark(self.name, loop, f"the loop is not pipelined: {why}")
            rooms = self.rooms(function, loops, plans, target, warps)
            for loop, plan, room in zip(loops, plans, rooms, strict=True):
                if plan is None or room is None or not (_has_blocks(plan) or self.is_recurrence(loop)):
                    continue
                stages = self.stages_for(loop)
                if "unsignedCmp" in loop.attributes:
                    declined(self.name, loop, "the loop is not pipelined: it counts unsigned numbers")
                elif stages < 2 <= stages_of(loop, self.num_stages):
                    declined(self.name, loop, "the loop is not pipelined: it has one iteration")
                elif stages > 1:
                    strategy.pipeline(
                        PipelinedLoop(
                            loop,
                            plan,
                            stages,
                            room,
                            target,
                            warps,
                            operands=self.policy.dots.operands,
                            chains_dots=bool(self.policy.async_units.pipeline_chained_dots),
                            layout_rules=self.policy.layout_rules,
                        )
                    )

    def plans(
        self, function: ir.Operation, strategy: LoadStrategy
    ) -> tuple[Sequence[ir.Operation], Sequence[PipelinedLoads | None], _Suits]:
        """The innermost loops of ``function``, what of each is pipelined, and which loads can be: all plans before any change, so that what is
        known of addresses is computed once.
        """
        loops = [op for op in all_ops(function) if isa(op, For) and _is_innermost(op)]
        if not loops:
            return (), (), _none
        axes = axis_info(function, self.policy.axis_rules)
        suits = functools.partial(strategy.suits, axes=axes, rules=self.policy.layout_rules)
        return loops, [self.plan(loop, suits) for loop in loops], suits

    def spread(self, function: ir.Operation) -> None:
        """Have rows of recurrences take few registers before they are issued ahead."""
        for loop in [op for op in all_ops(function) if isa(op, For) and _is_innermost(op)]:
            if self.stages_for(loop) > 1 and "unsignedCmp" not in loop.attributes and is_recurrence(loop):
                rows = [op for op in block_ops(For(loop).body) if is_row_of_recurrence(op)]
                plan = pipelined_loads(loop, set(rows).__contains__, whatever_they_feed=True)
                if plan is not None:
                    spread_rows(loop, plan.loads, self.policy.layout_rules)

    def is_recurrence(self, loop: ir.Operation) -> bool:
        """True if rows of ``loop`` are loaded ahead although it has no dots."""
        return self.policy.pipeline.recurrences and is_recurrence(loop)

    def plan(self, loop: ir.Operation, suits: _Suits) -> PipelinedLoads | None:
        """Loads of ``loop`` to pipeline: operands of dots with rows beside them, or the rows of a recurrence."""
        if not self.is_recurrence(loop):
            return pipelined_loads(loop, suits)
        return pipelined_loads(
            loop, lambda load: is_row_of_recurrence(load) and suits(load), whatever_they_feed=True
        )

    def has_addresses_ahead(self, loop: ir.Operation, plan: PipelinedLoads | None) -> bool:
        """Have what addresses of ``plan`` are loaded from be loaded an iteration before; whether ``loop`` is another one thereby."""
        if plan is None or "unsignedCmp" in loop.attributes or self.stages_for(loop) < 2:
            return False
        return _has_blocks(plan) and load_addresses_ahead(loop, plan)

    def has_numbers_ahead(
        self, loop: ir.Operation, plan: PipelinedLoads | None, target: Target | None, warps: int
    ) -> bool:
        """Have what ``loop`` loads besides its ``plan`` wait in registers, where it is a recurrence; whether it is another one thereby."""
        stages = self.stages_for(loop)
        if stages < 2 or "unsignedCmp" in loop.attributes or not self.is_recurrence(loop):
            return False
        return hold_numbers_ahead(loop, stages, set() if plan is None else set(plan.loads), target, warps)

    def rooms(
        self,
        function: ir.Operation,
        loops: Sequence[ir.Operation],
        plans: Sequence[PipelinedLoads | None],
        target: Target | None,
        warps: int,
    ) -> list[Room | None]:
        """The room of each loop that has a plan, before any of them has changed."""
        if not any(plans):
            return [None] * len(loops)
        found = lives(function, self.policy.scratch_measures)
        return [
            None if plan is None else Room.around(loop, found, staged(plan.loads), target, warps)
            for loop, plan in zip(loops, plans, strict=True)
        ]

    def stages_for(self, loop: ir.Operation) -> int:
        """The stages that were asked for, but no more than ``loop`` has iterations."""
        stages, trips = stages_of(loop, self.num_stages), known_trips(loop)
        return stages if trips is None else min(stages, trips)


def _none(load: ir.Operation) -> bool:
    """No load."""
    return False


def _has_blocks(plan: PipelinedLoads) -> bool:
    """True if some load gives a tensor of two dimensions or more: beside dots, rows alone are not worth a
    ring.
    """
    return any(len(load.results[0].type.shape) > 1 for load in plan.loads)


def _is_innermost(loop: ir.Operation) -> bool:
    return not any(is_loop(op) for op in all_ops(loop) if op != loop)
