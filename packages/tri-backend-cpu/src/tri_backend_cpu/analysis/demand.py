"""Demands: which step wants which value, at which points."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from tri_backend_cpu.analysis.plan import Nest, Step
from tri_core.lazy_dataclasses import dataclass
from tri_core.ttir import Op, Value

__all__ = ["Demand", "Demands", "Map", "is_inline_reshape", "operand_maps"]

#: which dimension of a step's shape runs along each dimension of a value; None: the index there is 0
Map = tuple[int | None, ...]


@dataclass(frozen=True)
class Demand:
    """``step`` wants a value at the points that ``map`` says, or all of it at once (None)."""

    step: Step
    map: Map | None

    def is_pointwise(self, value: Value) -> bool:
        """True if the step is a nest over the shape of ``value`` that reads each element at its own point."""
        if not isinstance(self.step, Nest) or self.map is None or self.step.shape != value.shape:
            return False
        return all(n == 1 or d == i for i, (d, n) in enumerate(zip(self.map, value.shape, strict=True)))

    def repeats(self) -> int:
        """Number of times that the step computes each element: loops around the innermost one that the value
        varies in.
        """
        if not isinstance(self.step, Nest) or self.map is None:
            return 1
        used = {d for d in self.map if d is not None}
        return math.prod(
            n for d, n in enumerate(self.step.shape) if d not in used and d < max(used, default=0)
        )


class Demands:
    """The demands on every value of a kernel."""

    def __init__(self) -> None:
        self._of: dict[Value, dict[Demand, None]] = {}

    def add(self, value: Value, demand: Demand) -> None:
        """Note ``demand`` on ``value``, if that is a tensor."""
        if value.is_tensor:
            self._of.setdefault(value, {})[demand] = None

    def __getitem__(self, value: Value) -> list[Demand]:
        return list(self._of.get(value, ()))

    def values(self) -> list[Value]:
        """Every value that is wanted."""
        return list(self._of)


def is_inline_reshape(op: Op) -> bool:
    """True if a ``tt.reshape`` only adds or drops dimensions of size 1."""
    return [n for n in op.operand("src").shape if n > 1] == [n for n in op.result.shape if n > 1]


def operand_maps(op: Op, at: Map) -> Iterable[tuple[Value, Map | None]]:
    """Maps at which computing a result of ``op`` at ``at`` reads the tensors among its operands."""
    rule = _MAPS.get(op.name)
    if rule is None:
        return [(v, at) for v in op.operands]
    return rule(op, at)


def _generated(op: Op, at: Map) -> Iterable[tuple[Value, Map | None]]:
    return ()


def _expanded(op: Op, at: Map) -> Iterable[tuple[Value, Map | None]]:
    axis = op.attributes["axis"]
    return [(op.operand("src"), at[:axis] + at[axis + 1 :])]


def _broadcast(op: Op, at: Map) -> Iterable[tuple[Value, Map | None]]:
    source = op.operand("src")
    pairs = zip(at, source.shape, op.result.shape, strict=True)
    return [(source, tuple(None if old == 1 and new != 1 else d for d, old, new in pairs))]


def _transposed(op: Op, at: Map) -> Iterable[tuple[Value, Map | None]]:
    source = op.operand("src")
    moved: list[int | None] = [None] * len(at)
    for place, dimension in zip(at, op.attributes["order"], strict=True):
        moved[dimension] = place
    return [(source, tuple(moved))]


def _reshaped(op: Op, at: Map) -> Iterable[tuple[Value, Map | None]]:
    source = op.operand("src")
    if not is_inline_reshape(op):
        return [(source, None)]
    kept = iter([d for d, n in zip(at, op.result.shape, strict=True) if n > 1])
    return [(source, tuple(next(kept) if n > 1 else None for n in source.shape))]


def _whole(op: Op, at: Map) -> Iterable[tuple[Value, Map | None]]:
    return [(op.operand("src"), None)]


def _gathered(op: Op, at: Map) -> Iterable[tuple[Value, Map | None]]:
    return [(op.operand("src"), None), (op.operand("indices"), at)]


_MAPS: dict[str, Callable[[Op, Map], Iterable[tuple[Value, Map | None]]]] = {
    "arith.constant": _generated,
    "tt.make_range": _generated,
    "tt.splat": _generated,
    "tt.expand_dims": _expanded,
    "tt.broadcast": _broadcast,
    "tt.trans": _transposed,
    "tt.reshape": _reshaped,
    "tt.split": _whole,
    "tt.gather": _gathered,
    # steps define their results, which are never computed where they are wanted
    "tt.reduce": _generated,
    "tt.scan": _generated,
    "tt.dot": _generated,
    "tt.histogram": _generated,
    "tt.join": _generated,
    "tt.cat": _generated,
}
