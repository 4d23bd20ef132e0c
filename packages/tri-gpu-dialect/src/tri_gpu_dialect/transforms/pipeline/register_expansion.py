"""The expansion of a loop whose loads are in registers while they are under way, for targets without asynchronous copies.

    for i: x = load(p(i)); y = dot(x, ...)

becomes, with one buffer,

    buffer = load(p(0))                                                     where there is an iteration
    for i, but for the last: next = load(p(i + 1)); y = dot(buffer, ...); buffer = next
    y = dot(buffer, ...)                                                    where there is an iteration

The last iteration stands behind the loop, so no load in the loop is beyond the last iteration: none needs a mask for that.
Loads that no dot's operand is read from as they are (a conversion of elements is between) stay in registers, which the loop carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tri_core.api import Target
from tri_core.dialects.tt import LoadOp
from tri_core.ir.regions import If
from tri_core.ir.rewriting import for_like
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.pipeline_schedule import Schedule
from tri_gpu_dialect.analysis.pressure import accumulator_registers, operand_registers, registers_of
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.edit import terminator
from tri_gpu_dialect.layouts import Banks
from tri_gpu_dialect.transforms.pipeline.copy_buffers import CopyBuffer, readers
from tri_gpu_dialect.transforms.pipeline.loop_expansion import (
    Expansion,
    build,
    cloned,
    compare,
    drop_dead,
    integer,
)
from tri_gpu_dialect.transforms.pipeline.loop_guards import runs_surely
from tri_gpu_dialect.transforms.pipeline.rings import Ring, Rings
from tri_gpu_dialect.types import tensor_info

__all__ = ["RegisterExpansion", "lacking_registers"]

_SLT = 2


def lacking_registers(loop: ir.Operation, plan: Schedule, target: Target | None, warps: int) -> int:
    """Registers of a thread that ``loop`` with the loads of ``plan`` under way needs and does not have; 0 where what it has is unknown."""
    if target is None or target.spec.unit is None:
        return 0
    unit = target.spec.unit
    have = unit.registers // -(-warps // unit.partitions)
    have = min(have, target.spec.limits.get("registers", have))
    loaded = sum(registers_of(op.results[0]) for op in plan.loads)
    return max(accumulator_registers(loop) + operand_registers(loop) + loaded - have, 0)


@dataclass
class RegisterExpansion(Expansion):
    """One loop being pipelined through registers; see the module.

    ``held``: numbers of the loads that stay in registers; ``kept``: their values in the iteration that is being made;
    ``slots``: the buffers of the others.
    """

    held: frozenset[int] = frozenset()
    kept: dict[int, ir.Value] = field(default_factory=dict)
    slots: dict[int, ir.Value] = field(default_factory=dict)

    @classmethod
    def of(cls, loop: ir.Operation, plan: Schedule, banks: Banks | None) -> RegisterExpansion:
        """The expansion of ``loop``; ``banks``: buffers lie by cycles in memory with these (None: in rows)."""
        buffers = [CopyBuffer.of(load, banks) for load in plan.loads]
        held = frozenset(number for number, load in enumerate(plan.loads) if not readers(load))
        rings = Rings(
            tuple(
                Ring(0 if n in held else b.bytes, in_place=b.is_read_in_place) for n, b in enumerate(buffers)
            ),
            stages=1,
        )
        return cls(loop, plan, buffers, rings, held=held)

    def run(self) -> None:
        """Replace the loop."""
        with ir.InsertionPoint(self.loop), self.loop.location:
            self.slots = {n: self.allocated(n) for n in range(len(self.buffers)) if n not in self.held}
            live = None if runs_surely(self.loop) else compare(_SLT, self.lower, self.upper)
            ahead, loaded = self.loads(self.lower, [self.inits[i] for i in self.plan.carried], live)
            self.store(loaded)
            made = self.all_but_the_last(ahead, [loaded[n] for n in sorted(self.held)])
            given = self.last(list(made.results), live)
            for buffer in self.slots.values():
                ir.Operation.create("ttg.local_dealloc", operands=[buffer])
        for old, new in zip(self.loop.results, given, strict=True):
            old.replace_all_uses_with(new)
        self.loop.erase()
        drop_dead(made)

    # --- buffers ------------------------------------------------------------------------------------------

    def allocated(self, number: int) -> ir.Value:
        """The buffer of load ``number``."""
        return build("ttg.local_alloc", [], [self.memory_type(number)])

    def stage(self, number: int, index: ir.Value) -> ir.Value:
        """The buffer; that of a load that stays in registers is its value, which :meth:`read` takes."""
        return self.kept[number] if number in self.held else self.slots[number]

    def read(
        self,
        load: ir.Operation,
        view: ir.Value,
        known: dict[ir.Value, ir.Value],
        pending: dict[ir.Value, tuple[ir.Operation, ir.Value]],
    ) -> None:
        """As for other loops, but for loads that stay in registers."""
        if self.plan.loads.index(load) in self.held:
            known[load.results[0]] = view
        else:
            super().read(load, view, known, pending)

    def store(self, loaded: Sequence[ir.Value]) -> None:
        """Fill the buffers."""
        for number, buffer in self.slots.items():
            ir.Operation.create("ttg.local_store", operands=[loaded[number], buffer])

    # --- stages -------------------------------------------------------------------------------------------

    def loads(
        self, index: ir.Value, ahead: Sequence[ir.Value], live: ir.Value | None
    ) -> tuple[list[ir.Value], list[ir.Value]]:
        """The first stage at ``index``, where ``live`` (None: surely): what it hands to its next time, and what it loaded."""
        body = self.body.arguments
        known: dict[ir.Value, ir.Value] = {body[0]: index}
        known.update((body[1 + i], value) for i, value in zip(self.plan.carried, ahead, strict=True))
        for op in self.plan.ops:
            if isa(op, LoadOp) and live is not None:
                made = self.masked_load(op, known, live)
            else:
                made = cloned(op, [known.get(v, v) for v in op.operands])
            known.update(zip(op.results, made.results, strict=True))
        coming = terminator(self.body).operands
        handed_on = [known.get(coming[i], coming[i]) for i in self.plan.carried]
        return handed_on, [known[op.results[0]] for op in self.plan.loads]

    def iteration(self, index: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        """The second stage at ``index`` with what the loop ``carried``, loads that stay in registers last; what it yields."""
        own = carried[: len(self.inits)]
        self.kept = dict(zip(sorted(self.held), carried[len(carried) - len(self.held) :], strict=True))
        known = dict(zip(self.body.arguments, [index, *own], strict=True))
        # one buffer each: no stage has a number
        return self.second(known, dict.fromkeys(self.depths, index), None)

    def all_but_the_last(self, ahead: Sequence[ir.Value], held: Sequence[ir.Value]) -> ir.Operation:
        """The loop: it carries what the old one did, the first stage's values, and loads that stay in registers."""
        limit = build("arith.subi", [self.upper, self.step], [self.upper.type])
        bounds = [self.lower, limit, self.step]
        made = for_like(self.loop, bounds, [*self.inits, *ahead, *held], without={"tt.num_stages"})
        block = made.regions[0].blocks[0]
        with ir.InsertionPoint(block):
            index, *inner = block.arguments
            count = len(self.inits)
            coming = build("arith.addi", [index, self.step], [index.type])
            handed_on, loaded = self.loads(coming, inner[count : count + len(ahead)], None)
            yielded = self.iteration(index, inner)
            self.store(loaded)
            kept = [loaded[n] for n in sorted(self.held)]
            ir.Operation.create("scf.yield", operands=[*yielded, *handed_on, *kept])
        return made

    def last(self, carried: list[ir.Value], live: ir.Value | None) -> list[ir.Value]:
        """The last iteration, where there is one; what the old loop gave."""
        if live is None:
            return self.iteration(self.last_index(), carried)
        results = carried[: len(self.inits)]
        types = [r.type for r in results]
        branch = ir.Operation.create(If.OPERATION_NAME, results=types, operands=[live], regions=2)
        for region, runs in zip(branch.regions, (True, False), strict=True):
            with ir.InsertionPoint(region.blocks.append()):
                given = self.iteration(self.last_index(), carried) if runs else results
                ir.Operation.create("scf.yield", operands=given)
        return list(branch.results)

    def last_index(self) -> ir.Value:
        """The loop's variable in its last iteration."""
        type_ = self.upper.type
        distance = build("arith.subi", [self.upper, self.lower], [type_])
        beyond_the_first = build("arith.subi", [distance, integer(type_, 1)], [type_])
        steps = build("arith.divsi", [beyond_the_first, self.step], [type_])
        return build("arith.addi", [self.lower, build("arith.muli", [steps, self.step], [type_])], [type_])

    def memory_type(self, number: int) -> ir.Type:
        """The type of the buffer of load ``number``."""
        info = tensor_info(self.plan.loads[number].results[0].type)
        assert info is not None
        return MemDescType.of(
            info.shape, info.element_type, self.buffers[number].encoding.to_attr(), mutable=True
        )
