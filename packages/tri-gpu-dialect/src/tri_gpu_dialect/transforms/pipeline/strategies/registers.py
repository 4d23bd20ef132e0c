"""Loads that are in registers while they are under way, for targets without asynchronous copies.

    for i: x = load(p(i)); y = dot(x, ...)

becomes, with one buffer,

    buffer = load(p(0))                                                     where there is an iteration
    for i, but for the last: next = load(p(i + 1)); y = dot(buffer, ...); buffer = next
    y = dot(buffer, ...)                                                    where there is an iteration

Stage 0 has the loads, in the first cluster, and the stores to the buffers, in the last one; stage 1 everything else.  The last iteration is
peeled, so no load in the loop is beyond the last iteration: none needs a mask for that.
Loads that no dot's operand is read from as they are (a conversion of elements is between) stay in registers: they are forwarded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tri_core.api import Target
from tri_core.ir.regions import For
from tri_core.ir.rewriting import clone_mapped
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.pipelined_loads import PipelinedLoads
from tri_gpu_dialect.analysis.pressure import accumulator_registers, operand_registers, registers_of
from tri_gpu_dialect.edit import block_ops
from tri_gpu_dialect.layouts import Banks
from tri_gpu_dialect.transforms.pipeline.building import build
from tri_gpu_dialect.transforms.pipeline.copy_buffers import CopyBuffer, readers
from tri_gpu_dialect.transforms.pipeline.dead_code import drop_dead
from tri_gpu_dialect.transforms.pipeline.expander import Expander
from tri_gpu_dialect.transforms.pipeline.loads_ahead import Known, run_ahead, stage_type
from tri_gpu_dialect.transforms.pipeline.predication import masked_unless
from tri_gpu_dialect.transforms.pipeline.rings import Ring, Rings
from tri_gpu_dialect.transforms.pipeline.schedule import Carried, Place, Schedule
from tri_gpu_dialect.transforms.pipeline.stage_reads import StageReads

__all__ = ["ThroughRegisters", "lacking_registers"]

#: clusters of the new loop: loads are issued first, and stored behind what reads the buffers
_LOAD, _REST, _STORE = range(3)


def lacking_registers(loop: ir.Operation, loads: PipelinedLoads, target: Target | None, warps: int) -> int:
    """Registers of a thread that ``loop`` with ``loads`` under way needs and does not have; 0 where what it has is unknown."""
    if target is None or target.spec.unit is None:
        return 0
    unit = target.spec.unit
    have = unit.registers // -(-warps // unit.partitions)
    have = min(have, target.spec.limits.get("registers", have))
    loaded = sum(registers_of(op.results[0]) for op in loads.loads)
    return max(accumulator_registers(loop) + operand_registers(loop) + loaded - have, 0)


@dataclass
class ThroughRegisters:
    """One loop whose ``loads`` go through registers to ``buffers``, but for those, by number, that are ``held`` there."""

    loop: ir.Operation
    loads: PipelinedLoads
    buffers: list[CopyBuffer]
    held: frozenset[int]

    @classmethod
    def of(cls, loop: ir.Operation, loads: PipelinedLoads, banks: Banks | None) -> ThroughRegisters:
        """``loop``; ``banks``: buffers lie by cycles in memory with these (None: in rows)."""
        buffers = [CopyBuffer.of(load, banks) for load in loads.loads]
        held = frozenset(number for number, load in enumerate(loads.loads) if not readers(load))
        return cls(loop, loads, buffers, held)

    @property
    def rings(self) -> Rings:
        """What the buffers take of shared memory."""
        each = (
            Ring(0 if n in self.held else b.bytes, in_place=b.is_read_in_place)
            for n, b in enumerate(self.buffers)
        )
        return Rings(tuple(each), stages=1)

    def run(self) -> None:
        """Replace the loop."""
        with ir.InsertionPoint(self.loop), self.loop.location:
            memory = {
                number: build("ttg.local_alloc", [], [stage_type(load, self.buffers[number])])
                for number, load in enumerate(self.loads.loads)
                if number not in self.held
            }
            schedule = self.schedule(memory)
        with ir.InsertionPoint.after(self.loop), self.loop.location:
            for buffer in memory.values():
                ir.Operation.create("ttg.local_dealloc", operands=[buffer])
        drop_dead(Expander(schedule, peel=True, predicate=masked_unless).run())

    def schedule(self, memory: Mapping[int, ir.Value]) -> Schedule:
        """The loop as it is to be expanded: with stores to ``memory``, and reads of it, for its loads."""
        loop = For(self.loop)
        old = block_ops(loop.body)[:-1]
        with ir.InsertionPoint(old[0]):
            loaded, carried = self.ahead()
        loads = block_ops(loop.body)[: -len(old) - 1]
        with ir.InsertionPoint(old[0]):
            for number, buffer in memory.items():
                ir.Operation.create("ttg.local_store", operands=[loaded[number], buffer])
        stores = block_ops(loop.body)[len(loads) : -len(old) - 1]
        found = self.read(old, memory, loaded)
        rest = block_ops(loop.body)[len(loads) + len(stores) : -1]
        places = {op: Place(0, _LOAD) for op in loads}
        places.update((op, Place(0, _STORE)) for op in stores)
        places.update((op, Place(1, _REST)) for op in rest)
        for op in found.replaced(rest):
            del places[op]
            op.erase()
        return Schedule(self.loop, places, 2, added=tuple(carried))

    def ahead(self) -> tuple[list[ir.Value], list[Carried]]:
        """The loads and all that they are computed from, here: what is loaded, and what they carry."""
        loaded: dict[ir.Operation, ir.Value] = {}

        def load_once(load: ir.Operation, known: Known) -> bool:
            loaded[load] = clone_mapped(load, known).results[0]
            return False

        carried = run_ahead(self.loop, self.loads, load_once)
        return [loaded[load] for load in self.loads.loads], carried

    def read(
        self, ops: Sequence[ir.Operation], memory: Mapping[int, ir.Value], loaded: Sequence[ir.Value]
    ) -> StageReads:
        """Have ``ops`` of the body, and its terminator, read ``memory``, or what is ``loaded`` where that stays in registers."""
        found = StageReads()
        for op in ops:
            number = self.loads.loads.index(op) if op in self.loads.loads else None
            if number is None:
                found.reach(op)
            elif number in self.held:
                found.take(op, loaded[number])
            else:
                found.read(op, memory[number])
        found.reach(For(self.loop).end)
        return found
