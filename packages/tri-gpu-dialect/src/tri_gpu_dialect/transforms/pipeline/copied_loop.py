"""Loads as asynchronous copies into rings of stages in shared memory, ``stages - 1`` iterations ahead.

Stage 0 has the addresses and the copies, the last one waits for those of its iteration and reads the stage.  Where the ring is
tight, copies stand behind what reads the stage that they go to; where it is deferred, behind the dots of their iteration, and a wait for
those of the iteration before (:mod:`tri_gpu_dialect.async_units.sink_dot_waits`); else before everything but the wait for copies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from tri_core.dialects.tt import LoadOp
from tri_core.ir.regions import For
from tri_core.ir.rewriting import attributes_of
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import LayoutRules
from tri_gpu_dialect.analysis.pipelined_loads import PipelinedLoads
from tri_gpu_dialect.dialect import WarpGroupDotWaitOp
from tri_gpu_dialect.dialect.markers import LATE
from tri_gpu_dialect.edit import block_ops, i32_attribute
from tri_gpu_dialect.transforms.layout.rematerialize import rematerialized
from tri_gpu_dialect.transforms.pipeline.building import add, build, equal, integer
from tri_gpu_dialect.transforms.pipeline.copy_buffers import CopyBuffer
from tri_gpu_dialect.transforms.pipeline.dead_code import drop_dead
from tri_gpu_dialect.transforms.pipeline.expander import Expander
from tri_gpu_dialect.transforms.pipeline.loads_ahead import Known, run_ahead, stage_type
from tri_gpu_dialect.transforms.pipeline.predication import masked_unless
from tri_gpu_dialect.transforms.pipeline.rings import Rings
from tri_gpu_dialect.transforms.pipeline.schedule import Carried, Place, Schedule
from tri_gpu_dialect.transforms.pipeline.stage_reads import StageReads

__all__ = ["CopiedLoop"]

#: clusters of the new loop: the wait, what is read before tight rings are filled again, copies, all else, numbers of stages
_WAIT, _BEFORE, _COPY, _REST, _COUNT = range(5)


@dataclass
class CopiedLoop:
    """One loop whose ``loads`` are copied to ``rings`` of ``buffers``; ``rules``: the target's of layouts."""

    loop: ir.Operation
    loads: PipelinedLoads
    buffers: list[CopyBuffer]
    rings: Rings
    rules: LayoutRules
    memory: list[ir.Value] = field(default_factory=list)

    def run(self) -> None:
        """Replace the loop."""
        with ir.InsertionPoint(self.loop), self.loop.location:
            self.memory = [self.allocated(number) for number in range(len(self.buffers))]
            schedule = self.schedule()
        # dots may stay under way into the next iteration
        late = {LATE: ir.UnitAttr.get()} if self.rings.is_late else {}
        with ir.InsertionPoint.after(self.loop), self.loop.location:
            self.wait(0)
            for buffer in self.memory:
                ir.Operation.create("ttg.local_dealloc", operands=[buffer])
        drop_dead(Expander(schedule, predicate=masked_unless, attributes=late).run())

    def allocated(self, number: int) -> ir.Value:
        """The stages of load ``number``."""
        type_ = stage_type(self.loads.loads[number], self.buffers[number], self.rings.depth(number))
        return build("ttg.local_alloc", [], [type_])

    # --- the loop's ops, and where each of them is ----------------------------------------------------------

    def schedule(self) -> Schedule:
        """The loop as it is to be expanded: with copies, and reads of stages, for its loads."""
        loop, last = For(self.loop), self.rings.stages - 1
        old, end = block_ops(loop.body)[:-1], loop.end
        fills, reads = self.counters(), self.counters()
        with ir.InsertionPoint(old[0]):
            ahead = self.copies(fills)
        copied = block_ops(loop.body)[: -len(old) - 1]
        with ir.InsertionPoint(old[0]):
            self.wait(last - 1)
            if any(buffer.is_read_in_place for buffer in self.buffers):
                ir.Operation.create("ttg.fence_async_shared")
        waits = block_ops(loop.body)[len(copied) : -len(old) - 1]
        found = self.read(old, reads)
        rest = block_ops(loop.body)[len(copied) + len(waits) : -1]
        places = {op: Place(0, _COPY) for op in copied}
        places.update((op, Place(last, _WAIT)) for op in waits)
        behind = self.behind(rest)
        places.update((op, Place(last, _BEFORE if i < behind else _REST)) for i, op in enumerate(rest))
        for op in found.replaced(rest):
            del places[op]
            op.erase()
        added = [*ahead]
        for depth in fills:
            for counter, stage in ((fills[depth], 0), (reads[depth], last)):
                ops, carried = self.following(counter, depth, end)
                places.update((op, Place(stage, _COUNT)) for op in ops)
                added.append(carried)
        return Schedule(self.loop, places, last + 1, added=tuple(added))

    def counters(self) -> dict[int, ir.Value]:
        """New arguments: the number of a stage, for each depth of rings."""
        body, i32 = For(self.loop).body, ir.IntegerType.get_signless(32)
        depths = sorted({self.rings.depth(number) for number in range(len(self.buffers))})
        return {depth: body.add_argument(i32, self.loop.location) for depth in depths}

    def following(self, stage: ir.Value, depth: int, end: ir.Operation) -> tuple[list[ir.Operation], Carried]:
        """The ops that count ``stage`` on, in rings of ``depth``, before the ``end`` of the body, and what is carried."""
        first, one, count = (integer(stage.type, n) for n in (0, 1, depth))
        with ir.InsertionPoint(end):
            raised = add(stage, one)
            last = equal(raised, count)
            coming = build("arith.select", [last, first, raised], [stage.type])
        return [v.owner.operation for v in (raised, last, coming)], Carried(stage, first, coming)

    def behind(self, ops: Sequence[ir.Operation]) -> int:
        """Number of leading ``ops`` after which the copies are placed: in tight rings, those up to the last
        load that is read at once; in deferred ones, those up to the last wait for a dot.
        """
        if self.rings.is_deferred:
            return 1 + max(i for i, op in enumerate(ops) if isa(op, WarpGroupDotWaitOp))
        if not self.rings.is_tight:
            return 0
        at_once = [
            load for load, ring in zip(self.loads.loads, self.rings.rings, strict=True) if ring.at_once
        ]
        return 1 + ops.index(at_once[-1])

    # --- ops ------------------------------------------------------------------------------------------------

    def view(self, number: int, stage: Mapping[int, ir.Value]) -> ir.Value:
        """The stage of load ``number`` that ``stage`` says for its depth, here."""
        type_ = stage_type(self.loads.loads[number], self.buffers[number])
        return build("ttg.memdesc_index", [self.memory[number], stage[self.rings.depth(number)]], [type_])

    def wait(self, groups: int) -> None:
        """Until at most ``groups`` groups of copies are under way, here."""
        build("ttg.async_wait", [], [_token()], {"num": i32_attribute(groups)})

    def copies(self, stage: Mapping[int, ir.Value]) -> list[Carried]:
        """The copies and all that they are computed from, here, as one group; gives what that carries."""
        tokens = []

        def copy(load: ir.Operation, known: Known) -> bool:
            tokens.append(self.copy(load, known, stage))
            return self.is_needed_ahead(load)

        carried = run_ahead(self.loop, self.loads, copy)
        build("ttg.async_commit_group", tokens, [_token()])
        return carried

    def copy(self, load: ir.Operation, known: Known, stage: Mapping[int, ir.Value]) -> ir.Value:
        """``load`` as a copy to its ``stage``; its token."""
        view, number = cast(load, LoadOp), self.loads.loads.index(load)
        spread = self.buffers[number].spread

        def given(value: ir.Value) -> ir.Value:
            return (
                known.get(value, value)
                if spread is None
                else rematerialized(value, spread, known, self.rules)
            )

        pointers, *others = (given(v) for v in (view.ptr, view.other) if v is not None)
        masks = [] if view.mask is None else [given(view.mask)]
        operands = [pointers, self.view(number, stage), *masks, *others]
        sizes = ir.DenseI32ArrayAttr.get([1, 1, len(masks), len(others)])
        attributes = attributes_of(load, {"operandSegmentSizes": sizes})
        return build("ttg.async_copy_global_to_local", operands, [_token()], attributes)

    def is_needed_ahead(self, load: ir.Operation) -> bool:
        """True if an op that runs ahead reads the result of ``load``."""
        first = {op.results[0] for op in self.loads.ops}
        users = [use.owner.operation for use in load.results[0].uses]
        return any(user.results and user.results[0] in first for user in users)

    def read(self, ops: Sequence[ir.Operation], stage: Mapping[int, ir.Value]) -> StageReads:
        """Have ``ops`` of the body, and its terminator, read the ``stage`` of loads."""
        found = StageReads()
        for op in ops:
            if op in self.loads.loads:
                with ir.InsertionPoint(op):
                    found.read(op, self.view(self.loads.loads.index(op), stage))
            else:
                found.reach(op)
        found.reach(For(self.loop).end)
        return found


def _token() -> ir.Type:
    return ir.Type.parse("!ttg.async_token")
