"""The value of the axis analysis; see :mod:`.axis_info` for what its fields mean."""

from __future__ import annotations

import dataclasses
from math import gcd
from typing import Self

from tri_core.lazy_dataclasses import dataclass

__all__ = ["BIG", "AxisInfo", "power_of_two_divisor"]

Sizes = tuple[int, ...]

#: the divisibility of zero
BIG = 1 << 62


def power_of_two_divisor(value: int) -> int:
    """The largest power of two that divides ``value``."""
    return min(value & -value, BIG) if value else BIG


@dataclass(frozen=True)
class AxisInfo:
    """Contiguity, divisibility and constancy per dimension, and what is known of the values themselves.

    ``value`` is the one value of all elements, if known; ``low`` the least element, if known at compile
    time: it tells ranges that go below zero, where signed division does not round towards one side.
    """

    contiguity: Sizes
    divisibility: Sizes
    constancy: Sizes
    value: int | None = None
    low: int | None = None

    @classmethod
    def unknown(cls, rank: int) -> Self:
        """Nothing is known."""
        ones = (1,) * rank
        return cls(ones, ones, ones)

    @classmethod
    def constant(cls, value: int, shape: Sizes) -> Self:
        """All elements are ``value``; ``shape`` is ``()`` for a scalar."""
        rank = max(len(shape), 1)
        divisor = power_of_two_divisor(value)
        return cls((1,) * rank, (divisor,) * rank, shape or (1,), value, value)

    @property
    def rank(self) -> int:
        """Number of dimensions; 1 for a scalar."""
        return len(self.contiguity)

    def join(self, other: AxisInfo) -> AxisInfo:
        """Join: properties that hold for either of the two values."""
        if self == other:
            return self
        runs = tuple(map(gcd, self.contiguity, other.contiguity))
        return AxisInfo(
            runs,
            tuple(gcd(self.at_runs(d, run), other.at_runs(d, run)) for d, run in enumerate(runs)),
            tuple(map(gcd, self.constancy, other.constancy)),
            self.value if self.value == other.value else None,
            None if self.low is None or other.low is None else min(self.low, other.low),
        )

    def at_runs(self, dim: int, run: int) -> int:
        """The divisibility of the first elements of runs of ``run``, at most the contiguity.

        A shorter run starts inside of a longer one, at a multiple of its own length.
        """
        known = self.divisibility[dim]
        return known if run >= self.contiguity[dim] else gcd(known, run)

    def of_elements(self, dim: int) -> int:
        """A power of two that divides every element along ``dim``."""
        return self.at_runs(dim, 1)

    def sunk(self) -> AxisInfo:
        """With elements that may be as low as can be."""
        return dataclasses.replace(self, low=None if self.low is None else -BIG)

    def stated(self, field: str, values: Sizes) -> AxisInfo:
        """With ``field`` as the program states it; powers of two that divide what is stated."""
        sizes = tuple(power_of_two_divisor(v) for v in values)
        match field:
            case "contiguity":
                return dataclasses.replace(self, contiguity=sizes)
            case "divisibility":
                return dataclasses.replace(self, divisibility=sizes)
            case _:
                return dataclasses.replace(self, constancy=sizes)
