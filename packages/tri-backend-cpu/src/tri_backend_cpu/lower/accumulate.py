"""Reductions: along the vectors in registers, across them in memory."""

from __future__ import annotations

from tri_backend_cpu.analysis.plan import Reduce
from tri_backend_cpu.builder import Builder
from tri_backend_cpu.graph.functions import neutral_element
from tri_backend_cpu.lower.context import Context
from tri_backend_cpu.lower.elementwise import lower_constant
from tri_backend_cpu.lower.evaluator import Evaluator
from tri_backend_cpu.lower.memory import read_view, write_view
from tri_backend_cpu.lower.place import Lanes, Place
from tri_backend_cpu.lower.regions import apply_region
from tri_core.mlir import ir
from tri_core.ttir import Block, DType

__all__ = ["Reduction", "across_rows"]


class Reduction:
    """A ``tt.reduce`` along the vectors of a nest, with ``unroll`` independent chains of accumulators.

    Values are ordered by chain, then by operand.  Functions without a known neutral element start with
    anything, and take the first elements as they are.
    """

    def __init__(self, context: Context, member: Reduce, width: int, unroll: int) -> None:
        self.b: Builder = context.b
        self.context = context
        self.member = member
        self.width = width
        self.unroll = unroll
        self.region: Block = member.op.blocks[0]
        self.dtypes: list[DType] = [v.dtype for v in member.op.operands]
        self.neutral = neutral_element(self.region, self.dtypes[0])

    @property
    def count(self) -> int:
        """The number of carried values."""
        return self.unroll * len(self.dtypes)

    def initial(self) -> list[ir.Value]:
        """The accumulators before the first iteration."""
        start = [
            lower_constant(self.b, self.neutral if self.neutral is not None else 0, d, self.width)
            if not d.is_pointer
            else self.b.undefined(d, self.width)
            for d in self.dtypes
        ]
        return start * self.unroll

    def step(
        self, carried: list[ir.Value], elements: list[ir.Value], first: ir.Value | None
    ) -> list[ir.Value]:
        """The accumulators after ``elements``; ``first`` is the loop's index, None when there is no loop.

        When there are elements for some chains only, the others keep theirs.
        """
        if first is None and len(elements) == self.count:
            return elements
        if self.neutral is None:
            is_first = self.b.cmp("eq", first if first is not None else self.b.i64(0), self.b.i64(0))
        results: list[ir.Value] = []
        size = len(self.dtypes)
        for chain in range(0, len(elements), size):
            old, new = carried[chain : chain + size], elements[chain : chain + size]
            combined = self.combine(old, new)
            if self.neutral is None:
                combined = [self.b.select(is_first, n, c) for n, c in zip(new, combined, strict=True)]
            results.extend(combined)
        return results + carried[len(results) :]

    def finish(self, carried: list[ir.Value]) -> list[ir.Value]:
        """The results, scalars: chains are combined in pairs, then lanes."""
        size = len(self.dtypes)
        chains = [carried[i : i + size] for i in range(0, len(carried), size)]
        while len(chains) > 1:
            pairs = zip(chains[::2], chains[1::2], strict=True)
            chains = [self.combine(a, b) for a, b in pairs]
        (values,) = chains
        distance = self.width
        while distance > 1:
            distance //= 2
            lanes = [*range(distance, 2 * distance)]
            upper = [self.b.shuffle(v, v, lanes) for v in values]
            lower = [self.b.shuffle(v, v, range(distance)) for v in values]
            values = self.combine(lower, upper)
        return [self.b.extract(v, 0) for v in values]

    def combine(self, left: list[ir.Value], right: list[ir.Value]) -> list[ir.Value]:
        """The region's function of two accumulators."""
        return apply_region(self.b, self.region, [*left, *right], self.context.scalars)


def across_rows(e: Evaluator, member: Reduce, place: Place) -> None:
    """One row's part of a reduction across the vectors: combine with what memory holds, except in the first."""
    axis = member.op.attributes["axis"]
    coordinates = place.coordinates[:axis] + place.coordinates[axis + 1 :]
    lane = None if place.lane is None else place.lane - (place.lane > axis)
    target = Place(coordinates, lane)
    elements = [e.lanes(v, place) for v in member.operands]
    level = len(e.frame.points) - 1
    if member.op.operands[0].shape[axis] > 1:
        elements = _combined(e, member, place, target, elements)
    for result, view, made in zip(member.op.results, member.views, elements, strict=True):
        if view is None:
            e.context.scalars[result] = made.value
        else:
            write_view(e, view, target, Lanes(made.value, level, made.wide))


def _combined(e: Evaluator, member: Reduce, place: Place, target: Place, new: list[Lanes]) -> list[Lanes]:
    level = len(e.frame.points) - 1
    views = [v for v in member.views if v is not None]
    with e.frame.at(level) as b:
        row = e.frame.index(place.coordinates[member.op.attributes["axis"]])
        is_first = b.cmp("eq", row.value, b.i64(0))
        elements = [e.frame.widen(n) for n in new]
        old = [e.frame.widen(read_view(e, v, target, level=level)) for v in views]
        combined = apply_region(b, member.op.blocks[0], old + elements, e.context.scalars)
        chosen = [b.select(is_first, n, c) for n, c in zip(elements, combined, strict=True)]
    return [Lanes(c, level, bool(e.frame.width)) for c in chosen]
