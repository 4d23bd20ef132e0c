"""The loops of one nest while its body is being made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from tri_backend_cpu.builder import Builder
from tri_backend_cpu.lower.place import Coordinate, Lanes
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir

__all__ = ["Frame"]


@dataclass
class Frame:
    """Insertion points by level (0: before the nest), the index of each loop, the number of lanes.

    An op is created at the outermost level at which its operands exist, which hoists it out of every loop
    that it does not vary in.
    """

    b: Builder
    width: int
    points: list[ir.InsertionPoint]
    indices: list[ir.Value] = field(default_factory=list)
    _sums: dict[Coordinate, ir.Value] = field(default_factory=dict)

    @contextmanager
    def at(self, level: int) -> Iterator[Builder]:
        """Create ops at ``level`` inside a ``with`` block."""
        with self.b.at(self.points[level]):
            yield self.b

    def index(self, coordinate: Coordinate) -> Lanes:
        """``coordinate`` as an i64."""
        if coordinate.loop < 0:
            return Lanes(self.b.i64(coordinate.offset), 0, wide=False)
        level = coordinate.loop + 1
        base = self.indices[coordinate.loop]
        if not coordinate.offset:
            return Lanes(base, level, wide=False)
        found = self._sums.get(coordinate)
        if found is None:
            with self.at(level) as b:
                found = b.same("arith.addi", base, b.i64(coordinate.offset))
            self._sums[coordinate] = found
        return Lanes(found, level, wide=False)

    def leave(self, after: ir.InsertionPoint) -> None:
        """The innermost loop is complete; ops go to ``after``, behind it."""
        self.points.pop()
        self.indices.pop()
        self.points[-1] = after
        self._sums = {c: v for c, v in self._sums.items() if c.loop < len(self.indices)}

    def widen(self, lanes: Lanes) -> ir.Value:
        """``lanes`` as a vector (as it is, in a nest without vectors)."""
        if lanes.wide or not self.width:
            return lanes.value
        with self.at(lanes.level) as b:
            return b.splat(lanes.value, self.width)
