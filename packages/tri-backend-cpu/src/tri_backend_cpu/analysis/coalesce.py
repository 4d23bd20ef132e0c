"""Third part of the plan: buffers that can be one.

A loop's next accumulator is best written where the current one is: ``acc = dot(a, b, acc)`` then updates
in place, and the copy at the end of the body goes.  That is right when nothing reads the old value after
the new one is written, or only the writing nest itself, point by point.
"""

from __future__ import annotations

from tri_backend_cpu.analysis.demand import Demands
from tri_backend_cpu.analysis.plan import BlockPlan, Buffer, Control, Dot, Nest, Plan, Step, View, Write
from tri_core.ttir import ForLoop, Value, as_for

__all__ = ["coalesce"]


def coalesce(plan: Plan, demands: Demands) -> None:
    """Merge buffers of ``plan`` where that saves a copy."""
    _Coalescer(plan, demands).run()


class _Coalescer:
    def __init__(self, plan: Plan, demands: Demands) -> None:
        self.plan = plan
        self.demands = demands
        self.definitions: dict[Buffer, list[Step]] = {}
        for step in plan.body.walk():
            for view in step.written():
                self.definitions.setdefault(view.buffer, []).append(step)

    def run(self) -> None:
        for step in list(self.plan.body.walk()):
            loop = as_for(step.op) if isinstance(step, Control) else None
            if loop is not None:
                self.next_values(loop, step.inner()[0])
        for step in self.plan.body.walk():
            if isinstance(step, Dot) and not step.starts_at_zero:
                self.accumulator(step)

    def next_values(self, loop: ForLoop, body: BlockPlan) -> None:
        """Let the loop-carried values of ``loop``, whose plan is ``body``, be written in place."""
        for argument, value in zip(loop.iter_args, loop.yielded, strict=True):
            target, own = self.plan.carried.get(argument), self.plan.views.get(value)
            if target is None or own is None or own.buffer is target.buffer or self.is_shared(value, own):
                continue
            step = self.defining_step(own, body)
            if step is not None and self.is_dead_after(argument, step, body):
                copies = _copies(body, value, target)
                self.replace(own.buffer, target)
                for nest, copy in copies:
                    nest.members.remove(copy)
                body.steps[:] = [s for s in body.steps if not isinstance(s, Nest) or s.members]

    def accumulator(self, dot: Dot) -> None:
        """Let the accumulator of ``dot`` be written where its result goes."""
        start = dot.accumulator
        own = self.plan.views.get(start)
        if own is None or own.buffer is dot.view.buffer or self.is_shared(start, own):
            return
        step = self.defining_step(own, dot.block)
        if step is None or {d.step for d in self.demands[start]} != {dot}:
            return
        carriers = [a for a, v in self.plan.carried.items() if v.buffer is dot.view.buffer]
        if all(self.is_dead_after(a, step, dot.block) for a in carriers):
            self.replace(own.buffer, dot.view)

    def is_shared(self, value: Value, own: View) -> bool:
        """True if other values share the buffer of ``value``, or its buffer is carried."""
        others = [v for v, view in self.plan.views.items() if view.buffer is own.buffer and v is not value]
        return bool(others) or any(v.buffer is own.buffer for v in self.plan.carried.values())

    def defining_step(self, view: View, block: BlockPlan) -> Step | None:
        """The one step of ``block`` that writes ``view``."""
        steps = self.definitions.get(view.buffer, [])
        return steps[0] if len(steps) == 1 and steps[0].block is block else None

    def is_dead_after(self, argument: Value, step: Step, block: BlockPlan) -> bool:
        """True if nothing in ``block`` reads ``argument`` later than ``step``, or elsewhere within it."""
        at = block.steps.index(step)
        for demand in self.demands[argument]:
            place = block.steps.index(block.ancestor(demand.step))
            if place > at:
                return False
            if place == at and not (demand.is_pointwise(argument) or self.is_start(argument, step)):
                return False
        return self.plan.views[argument].buffer is self.plan.carried[argument].buffer

    def is_start(self, argument: Value, step: Step) -> bool:
        """True if ``step`` is a dot that uses ``argument`` as accumulator only."""
        return isinstance(step, Dot) and argument is step.accumulator and argument not in (step.a, step.b)

    def replace(self, buffer: Buffer, target: View) -> None:
        """Move everything in ``buffer`` to ``target``, which has the same shape and type."""
        for value, view in self.plan.views.items():
            if view.buffer is buffer:
                self.plan.views[value] = target
        for step in self.definitions.pop(buffer):
            step.retarget(buffer, target)
            self.definitions[target.buffer].append(step)


def _copies(block: BlockPlan, value: Value, target: View) -> list[tuple[Nest, Write]]:
    """The members of ``block`` that copy ``value`` to ``target``."""
    return [
        (step, member)
        for step in block.steps
        if isinstance(step, Nest)
        for member in step.members
        if isinstance(member, Write) and member.value is value and member.view.buffer is target.buffer
    ]
