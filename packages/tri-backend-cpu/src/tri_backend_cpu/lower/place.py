"""Points of a loop nest at which values are computed, and values computed there."""

from __future__ import annotations

from typing import NamedTuple

from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir

__all__ = ["ZERO", "Address", "Coordinate", "Lanes", "Place"]


class Coordinate(NamedTuple):
    """An index: that of loop number ``loop`` of the nest (-1: none) plus ``offset``."""

    loop: int
    offset: int = 0


ZERO = Coordinate(-1)


class Place(NamedTuple):
    """A point of a tensor, or a vector of points.

    One coordinate per dimension.  Along dimension ``lane`` (None: no dimension) the point stands for as
    many consecutive ones as the nest's vectors have lanes.
    """

    coordinates: tuple[Coordinate, ...]
    lane: int | None = None

    def first(self) -> Place:
        """The first of the points."""
        return Place(self.coordinates)

    def start(self) -> Place:
        """The same, at the start of the loop over vectors."""
        if self.lane is None:
            return self
        before, after = self.coordinates[: self.lane], self.coordinates[self.lane + 1 :]
        return Place((*before, ZERO, *after), self.lane)


@dataclass(frozen=True, slots=True)
class Lanes:
    """A register value of a nest: a vector (``wide``), or a scalar that is the same in every lane.

    ``level`` counts the loops of the nest that it varies in: it was created inside of that many.
    """

    value: ir.Value
    level: int
    wide: bool


@dataclass(frozen=True)
class Address:
    """Addresses of a vector of points: ``pointer`` is a scalar, or a vector of one address per lane.

    With a scalar ``pointer`` the lanes are ``contiguous`` from there, or all the same.
    """

    pointer: Lanes
    contiguous: bool
