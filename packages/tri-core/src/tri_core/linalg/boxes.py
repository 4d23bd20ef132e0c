"""Masks that are true in a box of indices."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.lazy_dataclasses import dataclass
from tri_core.linalg import indices
from tri_core.linalg.indices import Index
from tri_core.linalg.strides import Strided
from tri_core.mlir import arith, ir

__all__ = ["Box", "box_of_comparison"]


@dataclass(frozen=True)
class Box:
    """A mask of ``shape``, true where ``low[d] <= i[d] < high[d]`` for every dimension; bounds lie within 0 and the size."""

    low: tuple[Index, ...]
    high: tuple[Index, ...]
    shape: tuple[int, ...]

    @classmethod
    def full(cls, shape: Sequence[int]) -> Box:
        """The mask that is true everywhere."""
        return cls((0,) * len(shape), tuple(shape), tuple(shape))

    @classmethod
    def uniform(cls, condition: ir.Value, shape: Sequence[int]) -> Box:
        """The mask that is ``condition`` (i1) everywhere; ``shape`` has a dimension."""
        box = cls.full(shape)
        return box.bounded(0, 0, indices.choose(condition, shape[0], 0))

    @property
    def is_full(self) -> bool:
        """True if the mask is known to be true everywhere."""
        return self == Box.full(self.shape)

    @property
    def sizes(self) -> tuple[Index, ...]:
        """Counts of indices within, by dimension."""
        return tuple(
            high if low == 0 else indices.at_least(indices.subtract(high, low), 0)
            for low, high in zip(self.low, self.high, strict=True)
        )

    def bounded(self, dimension: int, low: Index, high: Index) -> Box:
        """With other bounds of ``dimension``."""
        lows, highs = list(self.low), list(self.high)
        lows[dimension], highs[dimension] = low, high
        return Box(tuple(lows), tuple(highs), self.shape)

    def both(self, other: Box) -> Box:
        """The mask that is true where this one and ``other`` are."""
        lows = (
            a if b == 0 else b if a == 0 else indices.at_least(a, b)
            for a, b in zip(self.low, other.low, strict=True)
        )
        highs = (
            a if b == size else b if a == size else indices.at_most(a, b)
            for a, b, size in zip(self.high, other.high, self.shape, strict=True)
        )
        return Box(tuple(lows), tuple(highs), self.shape)

    def expanded(self, axis: int) -> Box:
        """With a new dimension of size 1."""
        return Box(
            (*self.low[:axis], 0, *self.low[axis:]),
            (*self.high[:axis], 1, *self.high[axis:]),
            (*self.shape[:axis], 1, *self.shape[axis:]),
        )

    def broadcast(self, shape: Sequence[int]) -> Box:
        """With dimensions of size 1 stretched to ``shape``."""
        factors = [new if old != new else 1 for old, new in zip(self.shape, shape, strict=True)]
        return Box(
            tuple(map(indices.multiply, self.low, factors)),
            tuple(map(indices.multiply, self.high, factors)),
            tuple(shape),
        )

    def transposed(self, order: Sequence[int]) -> Box:
        """With dimension ``order[d]`` as dimension ``d``."""
        low, high, shape = (tuple(part[d] for d in order) for part in (self.low, self.high, self.shape))
        return Box(low, high, shape)


#: the limit below which the difference of what is compared lies, and the one from which on it does
_BELOW = {arith.CmpIPredicate.slt: 0, arith.CmpIPredicate.sle: 1}
_FROM = {arith.CmpIPredicate.sgt: 1, arith.CmpIPredicate.sge: 0}


def box_of_comparison(predicate: arith.CmpIPredicate, left: Strided, right: Strided) -> Box | None:
    """Box in which ``left predicate right`` holds; None unless both differ by a number that moves by 1 along one dimension at most."""
    if predicate not in _BELOW and predicate not in _FROM:
        return None
    difference = left.minus(right)
    moving = [d for d, stride in enumerate(difference.strides) if stride != 0]
    if len(moving) != 1 or difference.strides[moving[0]] not in (1, -1):
        return _everywhere(predicate, difference) if not moving and difference.shape else None
    (dimension,) = moving
    size, offset, behind = (
        difference.shape[dimension],
        difference.offset,
        indices.subtract(right.offset, left.offset),
    )
    low, high = 0, size
    if difference.strides[dimension] == 1:  # offset + i < limit
        if predicate in _BELOW:
            high = indices.clamp(indices.add(behind, _BELOW[predicate]), size)
        else:
            low = indices.clamp(indices.add(behind, _FROM[predicate]), size)
    elif predicate in _BELOW:  # offset - i < limit, that is offset - limit + 1 <= i
        low = indices.clamp(indices.add(offset, 1 - _BELOW[predicate]), size)
    else:  # offset - i >= limit, that is i < offset - limit + 1
        high = indices.clamp(indices.add(offset, 1 - _FROM[predicate]), size)
    return Box.full(difference.shape).bounded(dimension, low, high)


def _everywhere(predicate: arith.CmpIPredicate, difference: Strided) -> Box:
    condition = arith.CmpIOp(predicate, indices.as_value(difference.offset), indices.constant(0)).result
    return Box.uniform(condition, difference.shape)
