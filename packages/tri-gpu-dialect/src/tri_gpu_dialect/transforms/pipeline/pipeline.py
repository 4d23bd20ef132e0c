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
values of its own (see :mod:`tri_gpu_dialect.analysis.pipelined_loads`); what only the loads needed goes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tri_core.api import Pass, StageContext, Target
from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.regions import For, is_loop
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_core.passes.loops import known_trips
from tri_core.passes.origins import is_zero
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis import AxisInfos, axis_info
from tri_gpu_dialect.analysis.carried_dots import carried_dots, late_dots
from tri_gpu_dialect.analysis.liveness import lives
from tri_gpu_dialect.analysis.pipelined_loads import PipelinedLoads, obstacle, pipelined_loads
from tri_gpu_dialect.edit import all_ops, functions, module_int
from tri_gpu_dialect.encodings import SharedEncoding
from tri_gpu_dialect.layouts import BLOCK, OFFSET, Banks, vector_access
from tri_gpu_dialect.layouts.shared import row_major
from tri_gpu_dialect.plans import scratch_bytes
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.remarks import add_remark
from tri_gpu_dialect.transforms.layout.rematerialize import can_be_rematerialized
from tri_gpu_dialect.transforms.pipeline.copy_buffers import (
    CopyBuffer,
    chosen_encoding,
    readers,
    row_spread,
    stays_in_block,
)
from tri_gpu_dialect.transforms.pipeline.rings import Ring, Rings, Room, choose
from tri_gpu_dialect.transforms.pipeline.strategies.async_copy import AsyncCopies
from tri_gpu_dialect.transforms.pipeline.strategies.registers import ThroughRegisters, lacking_registers
from tri_gpu_dialect.types import tensor_info

__all__ = ["Pipeline"]


@dataclass(frozen=True)
class Pipeline(Pass):
    """See the module; ``num_stages`` iterations at once, unless a loop's ``tt.num_stages`` says otherwise.

    Without asynchronous copies (``policy.pipeline.async_copy_bits`` is empty), loads go through registers if
    ``policy.pipeline.through_registers`` says so (:mod:`tri_gpu_dialect.transforms.pipeline.strategies.registers`): two stages, however
    many are asked for, if there are registers for them, and shared memory for a buffer of each operand; else nothing is done.  Of a loop that loads operands of dots and
    gets fewer stages than that, or is left as it is, a remark says why, with the bytes of shared memory that it lacks.
    """

    name: ClassVar[str] = "pipeline"

    num_stages: int = 3
    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the innermost loops of every function of ``module``."""
        widths = self.policy.pipeline.async_copy_bits
        target = context.target if context is not None else None
        if not widths and not self.policy.pipeline.through_registers:
            return
        warps = module_int(module, "ttg.num-warps")
        for function in functions(module):
            loops = [op for op in all_ops(function) if isa(op, For) and _is_innermost(op)]
            if not loops:
                continue
            # all plans before any change: what is known of addresses is computed once
            suits = (
                functools.partial(_suits, axes=axis_info(function), widths=widths) if widths else _is_matrix
            )
            plans = [pipelined_loads(loop, suits) for loop in loops]
            for loop, plan in zip(loops, plans, strict=True):
                if plan is None and self.stages_of(loop) > 1 and (why := obstacle(loop, suits)) is not None:
                    add_remark(loop, f"the loop is not pipelined: {why}")
            rooms = self.rooms(function, loops, plans, target, warps)
            for loop, plan, room in zip(loops, plans, rooms, strict=True):
                if plan is not None and room is not None and any(_is_block(load) for load in plan.loads):
                    self.loop(loop, plan, room, target, warps)

    @staticmethod
    def rooms(
        function: ir.Operation,
        loops: Sequence[ir.Operation],
        plans: Sequence[PipelinedLoads | None],
        target: Target | None,
        warps: int,
    ) -> list[Room | None]:
        """The room of each loop that has a plan, before any of them has changed."""
        if not any(plans):
            return [None] * len(loops)
        found = lives(function, scratch_bytes)
        return [
            None if plan is None else Room.around(loop, found, _staged(plan), target, warps)
            for loop, plan in zip(loops, plans, strict=True)
        ]

    def stages_of(self, loop: ir.Operation) -> int:
        """The stages that were asked for."""
        given = loop.attributes.get("tt.num_stages", None)
        return ir.IntegerAttr(given).value if given is not None else self.num_stages

    def loop(
        self, loop: ir.Operation, plan: PipelinedLoads, room: Room, target: Target | None, warps: int
    ) -> None:
        """Pipeline ``loop`` with as many stages as were asked for and have room."""
        stages = self.stages_of(loop)
        trips = known_trips(loop)
        if trips is not None:
            stages = min(stages, trips)  # copies for iterations that there are not
        if stages < 2 or "unsignedCmp" in loop.attributes:
            return
        if not self.policy.pipeline.async_copy_bits:
            self.through_registers(loop, plan, room, target, warps)
            return
        buffers = [CopyBuffer.of(load) for load in plan.loads]
        chains = bool(self.policy.async_units.pipeline_chained_dots)
        wanted = Rings(
            tuple(
                Ring(b.bytes, in_place=b.is_read_in_place, at_once=not readers(load))
                for b, load in zip(buffers, plan.loads, strict=True)
            ),
            stages,
            # dots may stay under way into the next iteration; who asks for chains of dots that overlap needs that of all
            is_late=bool(carried_dots(loop) if chains else late_dots(loop, _staged(plan))),
        )
        rings = choose(wanted, room, late_anyway=chains)
        if rings is None or rings.buffers < stages:
            add_remark(loop, _too_little(wanted, rings, room))
        if rings is not None:
            AsyncCopies(loop, plan, buffers, rings).run()

    def through_registers(
        self, loop: ir.Operation, plan: PipelinedLoads, room: Room, target: Target | None, warps: int
    ) -> None:
        """Pipeline ``loop``, if there are registers for what it loads, and memory for one buffer of each operand."""
        if lacking := lacking_registers(loop, plan, target, warps):
            add_remark(loop, f"the loop is not pipelined: {lacking} registers are too few for its loads")
            return
        by_cycles = self.policy.dots.memory_by_cycles
        expansion = ThroughRegisters.of(loop, plan, Banks.of(target) if by_cycles and target else None)
        if room.fits(expansion.rings):
            expansion.run()
        else:
            add_remark(loop, _too_little(replace(expansion.rings, stages=2), None, room))


def _staged(plan: PipelinedLoads) -> set[ir.Value]:
    """What readers of the loads make, in whose place stages of rings will be."""
    return {reader.results[0] for load in plan.loads for reader in readers(load)}


def _is_block(load: ir.Operation) -> bool:
    """Whether ``load`` gives a tensor of two dimensions or more: rows alone are not worth a ring."""
    return len(load.results[0].type.shape) > 1


def _is_innermost(loop: ir.Operation) -> bool:
    return not any(is_loop(op) for op in all_ops(loop) if op != loop)


def _too_little(wanted: Rings, rings: Rings | None, room: Room) -> str:
    """Why the loop has ``rings`` and not what was ``wanted``."""
    asked = wanted.stages
    has = f"is not pipelined in {asked} stages" if rings is None else f"has {rings.buffers} of {asked} stages"
    each = sum(ring.bytes for ring in wanted.rings)
    return f"the loop {has}: each takes {each} bytes of shared memory, {room.free} of {room.limit} are free"


def _is_matrix(load: ir.Operation) -> bool:
    """Whether ``load`` gives a tensor of two dimensions or more, in registers of the block that reads it."""
    info = tensor_info(load.results[0].type)
    return info is not None and info.rank > 1 and not reads_again(load) and stays_in_block(load)


def _suits(load: ir.Operation, axes: AxisInfos, widths: Sequence[int]) -> bool:
    """Whether ``load`` can be an asynchronous copy: of matrices, in accesses of one of the ``widths`` in bits, or of rows."""
    view, info = load.opview, tensor_info(load.results[0].type)
    if info is None or info.bitwidth < 8 or reads_again(load):
        return False
    if view.other is not None and not is_zero(view.other):
        return False
    if info.rank == 1:
        given = [v for v in (view.ptr, view.mask, view.other) if v is not None]
        is_cheap = all(can_be_rematerialized(v, row_spread(load)) for v in given)
        return is_cheap and info.bitwidth in widths and _is_one_block(load)
    if not stays_in_block(load):
        return False
    chosen = chosen_encoding(load)
    dims = range(info.rank) if chosen is None else [_contiguous(chosen, info.shape)]
    best = max(_run(view.ptr, view.mask, axes, dim, info.bitwidth) for dim in dims)
    return best * info.bitwidth >= min(widths)


def _is_one_block(load: ir.Operation) -> bool:
    """Whether no cluster shares what is loaded."""
    return not layouts.of(load.results[0].type).bases.get(BLOCK, ())


def _run(pointers: ir.Value, mask: ir.Value | None, axes: AxisInfos, dim: int, bits: int) -> int:
    """Elements that a thread accesses at once along ``dim``."""
    width = min(axes.contiguous(pointers, dim), max(128 // bits, 1))
    if mask is not None:
        width = min(width, axes.constant_run(mask, dim))
    shape = tuple(pointers.type.shape)
    order = [dim, *(d for d in reversed(range(len(shape))) if d != dim)]
    return vector_access(layouts.of(pointers.type), row_major(shape, order), width).width


def _contiguous(encoding: SharedEncoding, shape: tuple[int, ...]) -> int:
    """The dimension that neighbours in a buffer of ``shape`` differ in."""
    first = layouts.layout_for(encoding, shape).bases[OFFSET][0]
    return next(d for d, step in enumerate(first) if step)
