"""Second part of the plan: which tensor values are kept in memory, and which step writes them.

Going backwards through the program, every value learns which steps want it.  It is computed inline where
that costs little.  It gets memory when a step wants all of it at once, when it is dear and wanted by
several steps, or when what it was read from is overwritten before it is wanted.  It is written by the
first step that wants it, if that runs over its shape anyway, otherwise by a nest of its own.
"""

from __future__ import annotations

from tri_backend_cpu.analysis.cost import DEAR
from tri_backend_cpu.analysis.demand import Demand, Demands, is_inline_reshape, operand_maps
from tri_backend_cpu.analysis.plan import (
    BlockPlan,
    Buffer,
    Control,
    Dot,
    Nest,
    Plan,
    Scalar,
    Scan,
    Step,
    View,
    Write,
)
from tri_core.dialects import tt
from tri_core.ir.views import isa
from tri_core.ttir import Block, Op, Value

__all__ = ["materialise"]


def materialise(plan: Plan, body: Block) -> Demands:
    """Give views to the values of ``body`` that need them and add the steps that write those."""
    return _Materialiser(plan, body).run()


class _Materialiser:
    def __init__(self, plan: Plan, body: Block) -> None:
        self.plan = plan
        self.body = body
        self.demands = Demands()
        self.cost = plan.cost
        self.blocks: dict[Block, BlockPlan] = {}

    def run(self) -> Demands:
        self.find_blocks(self.body, self.plan.body)
        for step in self.plan.body.walk():
            for operand, demand in _own_demands(step):
                self.demands.add(operand, demand)
        self.block(self.body)
        return self.demands

    def find_blocks(self, block: Block, planned: BlockPlan) -> None:
        self.blocks[block] = planned
        for step in planned.steps:
            if isinstance(step, Control):
                for inner, inner_plan in zip(step.op.blocks, step.blocks, strict=True):
                    self.find_blocks(inner, inner_plan)

    # --- backwards through the program -------------------------------------------------------------------

    def block(self, block: Block) -> None:
        for op in reversed(block.ops):
            for inner in reversed(op.blocks):
                if inner in self.blocks:
                    self.block(inner)
            for result in op.results:
                if result.is_tensor:
                    self.result(op, result)
        for argument in block.arguments:
            if argument.is_tensor:
                self.carried(argument)

    def result(self, op: Op, value: Value) -> None:
        """Decide on a result of ``op`` and add its demands to those of the operands."""
        if value in self.plan.inductions:
            for demand in self.demands[value]:
                self.demands.add(self.plan.inductions[value].initial, demand)
        elif isa(op, tt.ReshapeOp) and not is_inline_reshape(op):
            for demand in self.demands[value]:
                self.demands.add(op.operand("src"), Demand(demand.step, None))
        elif value not in self.plan.views:
            self.inline(op, value)

    def inline(self, op: Op, value: Value) -> None:
        demands = self.demands[value]
        if demands and self.needs_memory(value, demands):
            demands = [self.give_memory(value, demands)]
        for demand in demands:
            assert demand.map is not None
            for operand, at in operand_maps(op, demand.map):
                self.demands.add(operand, Demand(demand.step, at))

    def carried(self, argument: Value) -> None:
        """A tensor that a loop carries: a copy is kept where the next one is written too early."""
        demands = self.demands[argument]
        induction = self.plan.inductions.get(argument)
        if induction is not None:
            for demand in demands:
                self.demands.add(induction.initial, demand)
        elif any(self.is_stale(argument, d) for d in demands):
            self.demands.add(argument, self.give_memory(argument, demands))

    # --- decisions ---------------------------------------------------------------------------------------

    def needs_memory(self, value: Value, demands: list[Demand]) -> bool:
        if any(d.map is None for d in demands):
            return True
        if self.cost.is_index(value):
            return False
        loaded = value.op is not None and isa(value.op, tt.LoadOp)
        if loaded and any(self.is_stale(value, d) for d in demands):
            return True
        home = self.home(value)
        steps = {d.step for d in demands}
        if len(steps) > 1 or any(isinstance(home.ancestor(s), Control) for s in steps):
            return loaded or self.cost.compute(value) >= DEAR
        return self.cost.compute(value) >= DEAR and any(d.repeats() >= 4 for d in demands)

    def give_memory(self, value: Value, demands: list[Demand]) -> Demand:
        """A view for ``value``, written before the first step that wants it; the demand of that write."""
        home = self.home(value)
        index, first = min((home.steps.index(home.ancestor(d.step)), home.ancestor(d.step)) for d in demands)
        limit = self.first_overwriting(value, home)
        view = View.dense(Buffer(value.dtype, value.type.numel), value.shape)
        self.plan.views[value] = view
        write = Write(_order(value), [value], [view])
        here = Demand(first, tuple(range(len(value.shape))))
        at_first = [d for d in demands if home.ancestor(d.step) is first]
        # a member that wants another point than the nest's reads what is not written yet
        pointwise = all(d.is_pointwise(value) for d in at_first)
        fits = isinstance(first, Nest) and not first.scalar and here in demands and pointwise
        stale = any(self.is_stale(value, d) for d in at_first)
        if isinstance(first, Nest) and fits and index <= limit and not stale:
            first.members.append(write)
            return here
        nest = Nest(value.shape, members=[write])
        home.insert(min(index, limit), nest)
        return Demand(nest, here.map)

    # --- memory that changes -----------------------------------------------------------------------------

    def is_stale(self, value: Value, demand: Demand) -> bool:
        """True if ``demand`` comes after an overwrite of the memory that ``value`` is read from."""
        home = self.home(value)
        place = home.ancestor(demand.step)
        at = home.steps.index(place)
        limit = self.first_overwriting(value, home)
        if limit != at:
            return limit < at
        if place is not demand.step or not demand.is_pointwise(value):
            return True
        return self.overwrites_elsewhere(value, place)

    def first_overwriting(self, value: Value, home: BlockPlan) -> int:
        """The index of the first step of ``home`` that overwrites what ``value`` is read from."""
        for index, step in enumerate(home.steps):
            if self.overwrites(value, step):
                return index
        return len(home.steps)

    def overwrites(self, value: Value, step: Step) -> bool:
        if value.op is None:
            buffer = self.plan.carried[value].buffer
            return isinstance(step, Nest) and any(
                isinstance(m, Write) and m.view.buffer is buffer for m in step.members
            )
        load = value.op
        return isa(load, tt.LoadOp) and any(order > load.order for order, _ in step.writes())

    def overwrites_elsewhere(self, value: Value, step: Step) -> bool:
        """True if a nest overwrites, at other points, the memory that ``value`` is read from."""
        load = value.op
        if load is None:
            return False
        later = [pointer for order, pointer in step.writes() if order > load.order]
        conflict = self.plan.aliasing.conflict
        return any(conflict(load.operand("ptr"), pointer) for pointer in later)

    def home(self, value: Value) -> BlockPlan:
        """The plan of the block that ``value`` is defined in."""
        block = value.op.parent if value.op is not None else value.block
        assert block is not None
        return self.blocks[block]


def _order(value: Value) -> int:
    return value.op.order if value.op is not None else -1


def _own_demands(step: Step) -> list[tuple[Value, Demand]]:
    """Demands of ``step`` itself on its operands."""
    match step:
        case Nest():
            operands = [v for m in step.members for v in m.operands]
            return [(v, Demand(step, tuple(range(len(v.shape))))) for v in operands]
        case Dot():
            wanted = [step.a, step.b] if step.starts_at_zero else step.op.operands
            return [(v, Demand(step, None)) for v in wanted]
        case Scan():
            return [(v, Demand(step, None)) for v in step.op.operands]
        case Scalar():
            return [(v, Demand(step, (None,) * len(v.shape))) for v in step.op.operands]
        case _:
            return []
