"""Loads that are in registers while they are under way, for targets without asynchronous copies.

    for i: x = load(p(i)); y = dot(x, ...)

becomes, with one buffer,

    buffer = load(p(0))                                                     where there is an iteration
    for i, but for the last: next = load(p(i + 1)); y = dot(buffer, ...); buffer = next
    y = dot(buffer, ...)                                                    where there is an iteration

Stage 0 has the loads, in the first cluster, the last stage what reads them, and the one before the stores to the buffers, in the last
cluster: whatever the number of stages, there is one buffer, and what is loaded more than an iteration ahead is forwarded in registers.  What
stays in registers is loaded behind its last use, into the registers that are free by then: a copy of it would wait for it in the middle of the
iteration.  Without buffers, whose loads are under way meanwhile, that is so of what is read behind a dot; the rest is issued first.
Of two stages the last iteration is peeled, so no load in the loop is beyond the last iteration: none needs a mask for that.
Loads without a buffer are *held*: they are not stored, but forwarded up to their use.  Rows and numbers beside the matrices (scales, zero points,
sums of decays) always are, whatever they feed (:func:`with_rows`): a wait for one that was issued behind the loads of the next iteration would wait
for these, since loads come back in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tri_core.api import Target
from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.access import global_load
from tri_core.ir.dots import is_dot
from tri_core.ir.regions import For
from tri_core.ir.rewriting import clone_mapped
from tri_core.ir.traits import replicates
from tri_core.ir.views import defining_op
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.pipelined_loads import PipelinedLoads, pipelined_loads, unpacked_registers
from tri_gpu_dialect.analysis.pressure import accumulator_registers, operand_registers, registers_of
from tri_gpu_dialect.edit import block_ops
from tri_gpu_dialect.transforms.pipeline.building import build
from tri_gpu_dialect.transforms.pipeline.copy_buffers import CopyBuffer, stays_in_block
from tri_gpu_dialect.transforms.pipeline.dead_code import drop_dead
from tri_gpu_dialect.transforms.pipeline.expander import Expander
from tri_gpu_dialect.transforms.pipeline.loads_ahead import Known, run_ahead, stage_type
from tri_gpu_dialect.transforms.pipeline.predication import masked_unless
from tri_gpu_dialect.transforms.pipeline.rings import Ring, Rings
from tri_gpu_dialect.transforms.pipeline.schedule import Carried, Place, Schedule
from tri_gpu_dialect.transforms.pipeline.stage_reads import StageReads
from tri_gpu_dialect.types import tensor_info

__all__ = ["LoadedLoop", "is_matrix", "lacking_registers", "thread_registers", "with_rows"]

#: clusters of the new loop: loads are issued first; then the rest, each in a cluster of its own; what is loaded is stored behind it
_LOAD, _REST = range(2)


def is_matrix(load: ir.Operation) -> bool:
    """True if ``load`` gives a tensor of two dimensions or more, in registers of the block that reads it."""
    info = tensor_info(load.results[0].type)
    return info is not None and info.rank > 1 and not reads_again(load) and stays_in_block(load)


def _is_row(load: ir.Operation) -> bool:
    """True if ``load`` gives a one-dimensional tensor or a scalar, in registers of the block that reads it."""
    info = tensor_info(load.results[0].type)
    return (info is None or (info.rank == 1 and stays_in_block(load))) and not reads_again(load)


def with_rows(
    loop: ir.Operation, loads: PipelinedLoads, target: Target | None, warps: int, stages: int
) -> PipelinedLoads:
    """``loads``, which feed dots of ``loop``, and its rows and numbers, whatever they feed, as far as there are registers: the largest are left out first."""
    rows = [op for op in block_ops(For(loop).body) if global_load(op) is not None and _is_row(op)]
    while rows:
        wanted = {*rows, *loads.loads}
        found = pipelined_loads(loop, wanted.__contains__, whatever_they_feed=True)
        if found is None or not lacking_registers(loop, found, target, warps, stages):
            return found or loads
        rows.remove(max(rows, key=lambda op: registers_of(op.results[0])))
    return loads


def lacking_registers(
    loop: ir.Operation, loads: PipelinedLoads, target: Target | None, warps: int, stages: int = 2
) -> int:
    """Registers of a thread that ``loop`` in ``stages`` with ``loads`` under way needs and does not have; 0 where what it has is unknown."""
    have = thread_registers(target, warps)
    if have is None:
        return 0
    loaded = sum(registers_of(op.results[0]) for op in loads.loads) * (stages - 1)
    unpacked = max((unpacked_registers(op) for op in loads.loads), default=0)
    return max(accumulator_registers(loop) + operand_registers(loop) + loaded + unpacked - have, 0)


def thread_registers(target: Target | None, warps: int) -> int | None:
    """Registers that a thread of a CTA of ``warps`` may have; None where what the target has is unknown."""
    if target is None or target.spec.unit is None:
        return None
    unit = target.spec.unit
    have = unit.registers // -(-warps // unit.partitions)
    return min(have, target.spec.limits.get("registers", have))


def _last_use(value: ir.Value, rest: Sequence[ir.Operation], *, before_dots: bool) -> int | None:
    """The place in ``rest`` of what reads ``value``, or copies of it, last.

    None where that is before the first dot, unless ``before_dots``, and where something else reads it: what runs ahead, or the next iteration.
    """
    at = {op: place for place, op in enumerate(rest)}
    ahead, last = [value], 0
    while ahead:
        users = [use.owner.operation for use in ahead.pop().uses]
        if any(user not in at and user.block == rest[0].block for user in users):
            return None
        last = max([last, *(at[user] for user in users if user in at)])
        ahead += [user.results[0] for user in users if replicates(user)]
    first = next((place for place, op in enumerate(rest) if is_dot(op)), len(rest))
    return last if before_dots or last > first else None


@dataclass
class LoadedLoop:
    """One loop whose ``loads``, in ``stages``, go through registers to ``buffers``, by their numbers; those without one are held.

    ``peels``: the last iteration of two stages is behind the new loop; else loads beyond the end are masked off.  ``is_last``: the new loop is not to be
    pipelined once more.
    """

    loop: ir.Operation
    loads: PipelinedLoads
    buffers: Mapping[int, CopyBuffer]
    stages: int = 2
    peels: bool = True
    is_last: bool = True

    @property
    def rings(self) -> Rings:
        """Shared memory of the buffers, as rings."""
        each = (Ring(b.bytes, in_place=b.is_read_in_place) for b in self.buffers.values())
        return Rings(tuple(each), stages=1)

    def run(self) -> None:
        """Replace the loop."""
        with ir.InsertionPoint(self.loop), self.loop.location:
            memory = {
                number: build("ttg.local_alloc", [], [stage_type(self.loads.loads[number], buffer)])
                for number, buffer in self.buffers.items()
            }
            schedule = self.schedule(memory)
        with ir.InsertionPoint.after(self.loop), self.loop.location:
            for buffer in memory.values():
                ir.Operation.create("ttg.local_dealloc", operands=[buffer])
        peel = self.peels and self.stages == 2
        without = ("tt.num_stages",) if self.is_last else ()
        drop_dead(Expander(schedule, peel=peel, predicate=masked_unless, without=without).run())

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
        places.update((op, Place(self.stages - 1, _REST + 2 * at)) for at, op in enumerate(rest))
        places.update((op, Place(self.stages - 2, _REST + 2 * len(rest))) for op in stores)
        for number in range(len(loaded)):
            if (
                number not in memory
                and (at := _last_use(loaded[number], rest, before_dots=bool(memory))) is not None
            ):
                places[defining_op(loaded[number])] = Place(0, _REST + 2 * at + 1)
        for op in found.replaced(rest):
            del places[op]
            op.erase()
        return Schedule(self.loop, places, self.stages, added=tuple(carried))

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
            elif number in memory:
                found.read(op, memory[number])
            else:
                found.take(op, loaded[number])
        found.reach(For(self.loop).end)
        return found
