"""Warp specialisation: a producer copies the blocks that dots read, consumers do everything else, at the same time.

    for i: a = load d[i]; acc = dot(a, acc)

becomes

    buffer of S stages; full[S], empty[S]: barriers in memory
    ttg.warp_specialize
      default:     for i, (s, p): wait full[s], p;        acc = dot(stage s, acc);  arrive empty[s];  (s, p) = next(s, p)
      partition:   for i, (s, p): wait empty[s], p ^ 1;   expect bytes at full[s]; copy d[i] -> stage s;  (s, p) = next(s, p)

Both sides are copies of the function with what they need (see :mod:`tri_gpu_dialect.async_units.analysis.slicing`), so loops, branches and
loads outside of loops may be nested in any way.  The number ``s`` of the stage and the parity ``p`` of its phase are carried
through all control flow in which a ring's loads are, on both sides alike: they agree by construction.

Where a CTA takes one program after the other and these run for different lengths (``ttg.next_tile``), the producer gets the number of
the next one from the launch's counter (``policy.async_units.dynamic_scheduler``) and hands it to the consumers by a ring of its own.

A function that cannot be cut stays as it is; why is logged, and stands in the module's attribute ``ttg.not_specialized``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import DescriptorLoadOp
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect.async_units.analysis.rings import RingUse, ring_use
from tri_gpu_dialect.async_units.analysis.slicing import Refusal, Slices, slice_function
from tri_gpu_dialect.async_units.grouped_row_loads import lift_rows
from tri_gpu_dialect.async_units.producer_consumer import Consumer, Memory, Producer
from tri_gpu_dialect.async_units.shared_memory_budget import beside
from tri_gpu_dialect.dialect import NextTileOp
from tri_gpu_dialect.dialect.markers import PERSISTENT
from tri_gpu_dialect.edit import (
    SHARED,
    all_ops,
    block_ops,
    functions,
    i32_attribute,
    make,
    module_int,
    stages_of,
    terminator,
)
from tri_gpu_dialect.encodings import SharedEncoding
from tri_gpu_dialect.policies.async_units import Specialization
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy

__all__ = ["WarpSpecialize"]

logger = logging.getLogger(__name__)

#: bytes for barriers and gaps, of which little is known before allocation
_SPARE = 1024


@dataclass(frozen=True)
class WarpSpecialize(Pass):
    """See the module; ``policy.specialization(function)`` says how, or None: not here.

    ``num_stages`` stages, unless the policy or a loop's ``tt.num_stages`` says otherwise, and as many as there is room for.
    """

    name: ClassVar[str] = "warp-specialize"

    num_stages: int = 3
    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Cut the kernel of ``module`` in two, if that can be."""
        limit = context.target.spec.limits.get("shared") if context is not None else None
        for function in functions(module):
            how = self.policy.specialization(function)
            if how is None:
                continue
            refusal = self.function(module, function, how, limit)
            if refusal is not None:
                _tell(module, refusal)

    def function(
        self, module: ir.Module, function: ir.Operation, how: Specialization, limit: int | None
    ) -> Refusal | None:
        """Cut ``function``; gives why not."""
        lift_rows(function)
        next_tiles = _next_tile(function) if self.policy.async_units.dynamic_scheduler else None
        slices = slice_function(function, frozenset() if next_tiles is None else frozenset({next_tiles}))
        if slices is None or isinstance(slices, Refusal):
            return slices
        copies = self.policy.async_units.block_copies
        if copies is None:
            return Refusal("the target has no copies of blocks", function)
        uses = []
        for ring in slices.rings:
            use = ring_use(ring, slices.consumer, copies)
            if isinstance(use, Refusal):
                return use
            uses.append(use)
        channels = _channels(uses)
        stages = self.stages(function, uses, channels, how, limit)
        if isinstance(stages, Refusal):
            return stages
        _split(module, function, _Plan(slices, uses, channels, stages, next_tiles), how)
        return None

    def stages(
        self,
        function: ir.Operation,
        uses: Sequence[RingUse],
        channels: Sequence[int],
        how: Specialization,
        limit: int | None,
    ) -> list[int] | Refusal:
        """The number of stages of each ring: as many as there is room for in innermost loops, one outside of these.

        Then a second one of what each program of a persistent kernel loads once, where there is room still: for the next program.
        """
        first = [uses[list(channels).index(number)] for number in range(max(channels) + 1)]
        streams = [_streams(use, uses) for use in first]
        wanted = [self.wanted(use, how) if s else 1 for use, s in zip(first, streams, strict=True)]
        if limit is None:
            return wanted
        fixed = _SPARE + sum(use.bytes for use, s in zip(first, streams, strict=True) if not s)
        each = max(sum(use.bytes for use, s in zip(first, streams, strict=True) if s), 1)
        needs = beside(function, uses, self.policy.scratch_measures)
        room = limit - fixed - needs.whole
        if room // each < max(wanted):
            # what is stored in a loop with loads may go in pieces
            room = limit - fixed - needs.pieces
        most = room // each
        if max(fixed + needs.pieces, _SPARE + needs.after) > limit or (any(streams) and most < 2):
            return Refusal("too little shared memory for two stages", function)
        found = [min(count, most) if s else count for count, s in zip(wanted, streams, strict=True)]
        room -= sum(use.bytes * count for use, count, s in zip(first, found, streams, strict=True) if s)
        return _ahead(first, streams, found, room)

    def wanted(self, use: RingUse, how: Specialization) -> int:
        """The stages that are asked for."""
        launch = how.stages or self.num_stages
        return max(launch if use.loop is None else stages_of(use.loop, launch), 2)


def _next_tile(function: ir.Operation) -> ir.Operation | None:
    """The op that gives the number of the program after this one, in a loop over programs of different lengths."""
    return next((op for op in all_ops(function) if isa(op, NextTileOp)), None)


def _tell(module: ir.Module, refusal: Refusal) -> None:
    """Report a refusal to partition in the log and on the module."""
    where = source_location(refusal.op.location)
    line = f" (line {where.line})" if where is not None else ""
    logger.info("not specialised: %s%s", refusal.reason, line)
    declined(WarpSpecialize.name, refusal.op, "not warp-specialized: {}", refusal.reason)
    module.operation.attributes["ttg.not_specialized"] = ir.StringAttr.get(f"{refusal.reason}{line}")


# --- shared memory ------------------------------------------------------------------------------------------


def _streams(use: RingUse, uses: Sequence[RingUse]) -> bool:
    """True if the loads are in a loop that contains no loop with another ring's loads."""
    loop = use.loop
    if loop is None:
        return False
    inside = set(all_ops(loop)) - {loop}
    return not any(other.loop in inside for other in uses)


def _ahead(uses: Sequence[RingUse], streams: Sequence[bool], stages: Sequence[int], room: int) -> list[int]:
    """A second stage, within ``room`` bytes, for what is loaded once in each program of a loop over programs."""
    found = list(stages)
    for number, use in enumerate(uses):
        loop = use.loop
        is_once = not streams[number] and loop is not None and PERSISTENT in loop.attributes
        if is_once and use.bytes <= room:
            found[number], room = 2, room - use.bytes
    return found


def _channels(uses: Sequence[RingUse]) -> list[int]:
    """The ring of each use: loops that follow each other use the same one for blocks of one kind."""
    found: list[int] = []
    for i, use in enumerate(uses):
        old = (
            found[j]
            for j, other in enumerate(uses[:i])
            if other.kind == use.kind and all(_apart(use, uses[k]) for k in range(i) if found[k] == found[j])
        )
        found.append(next(old, max(found, default=-1) + 1))
    return found


def _apart(one: RingUse, other: RingUse) -> bool:
    """True if the loads are in loops of which neither contains the other."""
    left, right = one.loop, other.loop
    if left is None or right is None:
        return False
    return left not in all_ops(right) and right not in all_ops(left)


# --- the function in two ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """Use ``i`` has the ring ``channels[i]``, ring ``r`` has ``stages[r]``; ``next_tiles``: as in :class:`Side`."""

    slices: Slices
    uses: Sequence[RingUse]
    channels: Sequence[int]
    stages: Sequence[int]
    next_tiles: ir.Operation | None

    def memory(self, warps: int, producers: int, num_ctas: int) -> list[Memory]:
        """The rings, made here; that of programs' numbers comes last."""
        found = []
        for number, stages in enumerate(self.stages):
            use = self.uses[list(self.channels).index(number)]
            found.append(Memory.allocated(use, stages, warps, num_ctas))
        return found if self.next_tiles is None else [*found, Memory.of_numbers(warps, producers)]


def _split(module: ir.Module, function: ir.Operation, plan: _Plan, how: Specialization) -> None:
    """Replace the body of ``function``."""
    warps, slices = module_int(module, "ttg.num-warps"), plan.slices
    body = function.regions[0].blocks[0]
    old, end = block_ops(body)[:-1], terminator(body)
    with ir.InsertionPoint(end), function.location:
        num_ctas = module_int(module, "ttg.num-ctas")
        memory = plan.memory(warps, how.warps, num_ctas)
        if num_ctas > 1:  # nobody reaches for a barrier of another CTA before that is ready
            make("ttg.barrier", addrSpace=i32_attribute(SHARED), **memory[0].reach)
        parts = _Captures(
            [a for a in body.arguments if a in slices.producer.values],
            _descriptors(slices, plan.uses),
            memory,
        )
        op = _op(parts.values(), how, warps)
        _default(
            op, Consumer(slices.consumer, plan.uses, plan.channels, memory, next_tiles=plan.next_tiles), body
        )
        _partition(op, plan, parts, body)
    for each in reversed(old):
        each.erase()
    module.operation.attributes["ttg.total-num-warps"] = i32_attribute(warps + max(how.reserved, how.warps))


def _op(captures: Sequence[ir.Value], how: Specialization, warps: int) -> ir.Operation:
    """The empty ``ttg.warp_specialize``."""
    array = ir.DenseI32ArrayAttr.get
    attributes = {"partitionNumWarps": array([how.warps]), "warpGroupStartIds": array([warps])}
    if how.registers is not None:
        attributes["actualRegisters"] = array(list(how.registers))
    return ir.Operation.create(
        "ttg.warp_specialize", operands=list(captures), attributes=attributes, regions=2
    )


def _default(op: ir.Operation, side: Consumer, body: ir.Block) -> None:
    with ir.InsertionPoint(op.regions[0].blocks.append()):
        side.run(body)
        make("ttg.warp_yield")


@dataclass(frozen=True)
class _Captures:
    """Values captured by the producer: arguments of the function, descriptors of its loads, the rings."""

    arguments: Sequence[ir.Value]
    descriptors: Mapping[ir.Operation, ir.Value]
    memory: Sequence[Memory]

    def values(self) -> list[ir.Value]:
        """All of it, each once."""
        rings = [v for each in self.memory for v in each.values()]
        return list(dict.fromkeys([*self.arguments, *self.descriptors.values(), *rings]))


def _descriptors(slices: Slices, uses: Sequence[RingUse]) -> dict[ir.Operation, ir.Value]:
    """Descriptors of loads, made here: one for each way in which its blocks lie in stages."""
    made: dict[tuple[ir.Value, SharedEncoding], ir.Value] = {}
    found: dict[ir.Operation, ir.Value] = {}
    for buffer in (b for use in uses for b in use.buffers):
        value = cast(buffer.load, DescriptorLoadOp).desc
        if not isinstance(value.owner, ir.Block) and value.owner.operation in slices.descriptors:
            key = (value, buffer.encoding)
            if key not in made:
                made[key] = _again(value, {})
            found[buffer.load] = made[key]
    return found


def _again(value: ir.Value, known: dict[ir.Value, ir.Value]) -> ir.Value:
    """``value``, made of arguments of the function, computed once more."""
    if isinstance(value.owner, ir.Block):
        return value
    if value not in known:
        op = value.owner.operation
        operands = [_again(v, known) for v in op.operands]
        made = op.clone(ip=ir.InsertionPoint.current).operation
        for i, each in enumerate(operands):
            made.operands[i] = each
        known.update(zip(op.results, made.results, strict=True))
    return known[value]


def _partition(op: ir.Operation, plan: _Plan, captures: _Captures, body: ir.Block) -> None:
    with ir.InsertionPoint(op.regions[1].blocks.append()):
        holder = ir.Operation.create("ttg.warp_specialize_partitions", regions=1)
    types = [v.type for v in op.operands]
    block = holder.regions[0].blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))
    inside = dict(zip(captures.values(), block.arguments, strict=True))
    memory = [each.seen_as([inside[v] for v in each.values()]) for each in captures.memory]
    descriptors = {load: inside[v] for load, v in captures.descriptors.items()}
    known = {v: inside[v] for v in captures.arguments}
    with ir.InsertionPoint(block):
        side = Producer(
            plan.slices.producer, plan.uses, plan.channels, memory, known,
            next_tiles=plan.next_tiles, descriptors=descriptors,
        )  # fmt: skip
        side.run(body)
        make("ttg.warp_return")
