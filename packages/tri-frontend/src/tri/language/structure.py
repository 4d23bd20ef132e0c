"""Values made of other values: the base class of aggregates, and of any class that carries several values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

__all__ = ["Structure", "parts", "remake"]


class Structure:
    """A value that stands for several others, its parts, which may be run-time values.

    The code generator takes it apart wherever run-time values cross a border (loops, branches) and makes
    it anew from parts of the same types.
    """

    __slots__ = ()

    def structure_parts(self) -> tuple[Any, ...]:
        """The parts, in order."""
        raise NotImplementedError

    def structure_with(self, parts: Iterable[Any]) -> Self:
        """A value of the same kind with other parts."""
        raise NotImplementedError

    def structure_names(self) -> tuple[str, ...]:
        """A name for each part, for messages."""
        return tuple(map(str, range(len(self.structure_parts()))))


def parts(value: Any) -> tuple[Any, ...] | None:
    """The parts of a structure or a tuple; None for a value that has none."""
    if isinstance(value, tuple):
        return value
    return value.structure_parts() if isinstance(value, Structure) else None


def remake(value: Any, items: Iterator[Any] | Iterable[Any]) -> Any:
    """``items`` in a structure like ``value``: a tuple of its class (a named tuple stays one), an aggregate."""
    if isinstance(value, Structure):
        return value.structure_with(items)
    make = getattr(type(value), "_make", tuple)
    return make(items)
