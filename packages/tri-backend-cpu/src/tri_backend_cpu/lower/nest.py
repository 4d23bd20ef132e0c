"""Emits a nest: loops over its shape, the innermost one by vectors."""

from __future__ import annotations

import math

from tri_backend_cpu.analysis.cost import CostModel
from tri_backend_cpu.analysis.plan import Effect, Member, Nest, Reduce, Write
from tri_backend_cpu.builder import Builder
from tri_backend_cpu.lower import effects
from tri_backend_cpu.lower.accumulate import Reduction, across_rows
from tri_backend_cpu.lower.context import Context
from tri_backend_cpu.lower.evaluator import Evaluator
from tri_backend_cpu.lower.frame import Frame
from tri_backend_cpu.lower.masks import masks_of, true_prefix
from tri_backend_cpu.lower.memory import write_view
from tri_backend_cpu.lower.place import ZERO, Coordinate, Lanes, Place
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.ttir import Value

__all__ = ["Shape", "emit_nest"]


@dataclass(frozen=True)
class Shape:
    """Traversal of a nest's shape.

    ``outer``: dimensions with a loop of their own; ``lane``: the one that vectors lie along (None: there
    is one point, or the nest is by elements and has no vectors); ``width``: lanes per vector, 0 without
    vectors; ``unroll``: vectors per iteration.
    """

    extents: tuple[int, ...]
    outer: tuple[int, ...]
    lane: int | None
    width: int
    unroll: int

    @classmethod
    def of(cls, nest: Nest, cost: CostModel, native: int) -> Shape:
        """The shape of ``nest`` on a target with vectors of ``native`` lanes."""
        long = [d for d, n in enumerate(nest.shape) if n > 1]
        if not long:
            return cls(nest.shape, (), None, 0, 1)
        if nest.scalar:
            return cls(nest.shape, tuple(long), None, 0, 1)
        *outer, lane = long
        width = math.gcd(nest.shape[lane], native)
        unroll = math.gcd(nest.shape[lane] // width, _chains(nest, cost, lane))
        return cls(nest.shape, tuple(outer), lane, width, unroll)


def _chains(nest: Nest, cost: CostModel, lane: int) -> int:
    """Vectors per iteration: enough independent accumulators to hide the latency of adding to them."""
    reductions = [m for m in nest.members if isinstance(m, Reduce) and m.op.attributes["axis"] == lane]
    if not reductions:
        return 1
    work = sum(cost.compute(v) for v in {v for m in nest.members for v in m.operands})
    return 8 if work < 6 and len(reductions) == 1 else 4 if work < 12 else 2


def emit_nest(context: Context, nest: Nest) -> None:
    """Emit ``nest`` at the builder's insertion point."""
    shape = Shape.of(nest, context.plan.cost, context.native_lanes)
    _Emitter(context, nest, shape).emit()


class _Emitter:
    def __init__(self, context: Context, nest: Nest, shape: Shape) -> None:
        self.context = context
        self.b: Builder = context.b
        self.nest = nest
        self.shape = shape
        writes = [m for m in nest.members if isinstance(m, Write)]
        self.fresh = frozenset(m.value for m in writes if context.plan.views.get(m.value) == m.view)
        self.frame = Frame(self.b, shape.width, [self.b.ip])
        self.e = Evaluator(context, self.frame, self.fresh)
        self.coordinates = [ZERO] * len(nest.shape)

    def emit(self) -> None:
        b = self.b
        start = b.ip
        for member in self.nest.members:
            if isinstance(member, Effect):
                effects.before(self.e, member)
        blocks = [self.open_loop(d) for d in self.shape.outer]
        if self.shape.lane is None:
            self.body(self.e, [Place(tuple(self.coordinates))])
        else:
            self.vectors(self.shape.lane)
        for block in reversed(blocks):
            with b.inside(block):
                b.yield_()
        b.ip = start

    def open_loop(self, dimension: int) -> ir.Block:
        """A loop over ``dimension``; what follows goes inside."""
        b = self.b
        loop, block = b.loop(b.i64(0), b.i64(self.shape.extents[dimension]), b.i64(1))
        self.enter(loop, block, block.arguments[0], dimension)
        return block

    def enter(self, outside: ir.Operation, block: ir.Block, index: ir.Value, dimension: int) -> None:
        """Level up: ops of the level so far go before ``outside``, those of the new one into ``block``."""
        self.frame.points[-1] = ir.InsertionPoint(outside)
        self.frame.points.append(ir.InsertionPoint(block))
        self.frame.indices.append(index)
        self.coordinates[dimension] = Coordinate(len(self.frame.indices) - 1)
        self.b.ip = self.frame.points[-1]

    def leave(self, dimension: int, after: ir.InsertionPoint) -> None:
        """Level down: ops go to ``after`` again."""
        self.frame.leave(after)
        self.b.ip = after
        self.coordinates[dimension] = ZERO

    # --- vectors -----------------------------------------------------------------------------------------

    def vectors(self, lane: int) -> None:
        """The loop over vectors: unmasked as far as the masks are known to be true, masked from there."""
        shape = self.shape
        place = Place(tuple(self.coordinates), lane)
        known = {m: p for m in masks_of(self.e, self.nest, place) if (p := self.prefix(m, lane)) is not None}
        reductions = self.reductions(lane, shape.unroll)
        if known and any(r.neutral is None for r in reductions):
            reductions = self.reductions(lane, 1)
        unroll = reductions[0].unroll if reductions else shape.unroll
        carried = [v for r in reductions for v in r.initial()]
        if not known:
            carried = self.loop(self.e, lane, (0, shape.extents[lane]), unroll, reductions, carried)
        else:
            split = self.split(list(known.values()), lane, unroll)
            reach = Lanes(split, len(self.frame.points) - 1, wide=False)
            fast = Evaluator(self.context, self.frame, self.fresh, frozenset(known), reach)
            carried = self.loop(fast, lane, (0, split), unroll, reductions, carried)
            slow = Evaluator(self.context, self.frame, self.fresh)
            carried = self.loop(slow, lane, (split, shape.extents[lane]), 1, reductions, carried)
        self.finish(reductions, carried)

    def prefix(self, masked: tuple[Value, Place], lane: int) -> Lanes | None:
        return true_prefix(self.e, *masked, self.shape.extents[lane])

    def split(self, prefixes: list[Lanes], lane: int, unroll: int) -> ir.Value:
        """The index up to which whole iterations are free of masks."""
        b, step = self.b, self.shape.width * unroll
        least = b.i64(self.shape.extents[lane])
        for prefix in prefixes:
            least = b.same("arith.minsi", least, prefix.value)
        least = b.same("arith.maxsi", least, b.i64(0))
        return b.same("arith.andi", least, b.i64(-step))

    def loop(
        self,
        e: Evaluator,
        lane: int,
        bounds: tuple[int | ir.Value, int | ir.Value],
        unroll: int,
        reductions: list[Reduction],
        carried: list[ir.Value],
    ) -> list[ir.Value]:
        """Iterations from one bound to the other; the accumulators after them."""
        b, step = self.b, self.shape.width * unroll
        lower, upper = (b.i64(x) if isinstance(x, int) else x for x in bounds)
        if bounds == (0, step):
            return self.chunk(e, lane, unroll, reductions, carried, first=None)
        after = b.ip
        loop, block = b.loop(lower, upper, b.i64(step), carried)
        self.enter(loop, block, block.arguments[0], lane)
        results = self.chunk(e, lane, unroll, reductions, list(block.arguments)[1:], first=block.arguments[0])
        b.yield_(*results)
        self.leave(lane, after)
        return list(loop.results)

    def chunk(
        self,
        e: Evaluator,
        lane: int,
        unroll: int,
        reductions: list[Reduction],
        carried: list[ir.Value],
        first: ir.Value | None,
    ) -> list[ir.Value]:
        """One iteration: ``unroll`` vectors; the accumulators after it."""
        places = []
        for u in range(unroll):
            at = list(self.coordinates)
            at[lane] = Coordinate(at[lane].loop, u * self.shape.width)
            places.append(Place(tuple(at), lane))
        self.body(e, places)
        level = len(self.frame.points) - 1
        results: list[ir.Value] = []
        for reduction in reductions:
            mine, carried = carried[: reduction.count], carried[reduction.count :]
            elements = [e.wide(v, p) for p in places for v in reduction.member.operands]
            with self.frame.at(level):
                results.extend(reduction.step(mine, elements, first))
        return results

    # --- reductions along the vectors --------------------------------------------------------------------

    def reductions(self, lane: int, unroll: int) -> list[Reduction]:
        return [
            Reduction(self.context, m, self.shape.width, unroll)
            for m in self.nest.members
            if isinstance(m, Reduce) and self.is_along_vectors(m)
        ]

    def is_along_vectors(self, member: Member) -> bool:
        return isinstance(member, Reduce) and member.op.attributes["axis"] == self.shape.lane

    def finish(self, reductions: list[Reduction], finals: list[ir.Value]) -> None:
        """Combine the accumulators to results: scalars, or elements of a view."""
        level = len(self.frame.points) - 1
        for reduction in reductions:
            mine, finals = finals[: reduction.count], finals[reduction.count :]
            op = reduction.member.op
            axis = op.attributes["axis"]
            place = Place(tuple(c for d, c in enumerate(self.coordinates) if d != axis))
            scalar = Evaluator(self.context, Frame(self.b, 0, self.frame.points, self.frame.indices))
            for result, view, made in zip(
                op.results, reduction.member.views, reduction.finish(mine), strict=True
            ):
                if view is None:
                    self.context.scalars[result] = made
                else:
                    write_view(scalar, view, place, Lanes(made, level, wide=False))

    # --- members -----------------------------------------------------------------------------------------

    def body(self, e: Evaluator, places: list[Place]) -> None:
        """Compute what all members need, then let them act: loads come before stores."""
        for member in self.nest.members:
            for place in places:
                _prepare(e, member, place)
        for member in self.nest.members:
            if not self.is_along_vectors(member):
                for place in places:
                    _act(e, member, place)


def _prepare(e: Evaluator, member: Member, place: Place) -> None:
    for operand in member.operands:
        if isinstance(member, Effect) and operand.dtype.is_pointer:
            e.address(operand, place)
        elif operand.is_tensor:
            e.lanes(operand, place)


def _act(e: Evaluator, member: Member, place: Place) -> None:
    match member:
        case Write():
            write_view(e, member.view, place, e.lanes(member.value, place))
        case Reduce():
            across_rows(e, member, place)
        case Effect():
            effects.act(e, member, place)
