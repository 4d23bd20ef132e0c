"""A random kernel of several programs as a value: patterns one after the other, each with memory of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Choice", "Memory", "Part", "Pattern", "Programs", "Shape"]

Array = npt.NDArray[Any]
#: an integer from the first to the second, both included
Choice = Callable[[int, int], int]


@dataclass(frozen=True)
class Shape:
    """``programs`` along x, each with a tile ``v`` of ``block`` elements of ``dtype`` (a name of the language)."""

    programs: int
    block: int
    dtype: str


@dataclass(frozen=True)
class Memory:
    """An array that programs share: ``numel`` of ``dtype``, zeroed or poisoned, compared or only used on the way."""

    name: str
    dtype: str
    numel: int
    zeroed: bool = False
    compared: bool = True


@dataclass(frozen=True)
class Part:
    """A pattern at work, with what was drawn for it."""

    pattern: str
    attributes: tuple[tuple[str, Any], ...] = ()

    def __getitem__(self, name: str) -> Any:
        return dict(self.attributes)[name]

    def without(self, **simpler: Any) -> Part:
        """The part with other attributes."""
        return Part(self.pattern, tuple((dict(self.attributes) | simpler).items()))


class Pattern(Protocol):
    """A way in which programs work together.  Names of memory end with the number of the part."""

    name: str

    def draw(self, choice: Choice, shape: Shape) -> dict[str, Any]:
        """Choices of a draw."""
        ...

    def memories(self, part: Part, shape: Shape, i: int) -> list[Memory]:
        """Memories that part ``i`` of a kernel needs."""
        ...

    def lines(self, part: Part, shape: Shape, i: int) -> list[str]:
        """Text, which may use ``pid``, ``offs``, and the tile ``v``, and may change ``v``."""
        ...

    def expected(self, part: Part, shape: Shape, i: int, v: Array, memory: Mapping[str, Array]) -> Array:
        """Write what ``memory`` holds in the end; gives ``v`` of all programs, shape (programs, block)."""
        ...

    def needs_all(self, part: Part) -> bool:
        """True if a program waits for one of a higher index: all must be resident."""
        ...

    def by_volatile(self, part: Part) -> bool:
        """True if it relies on accesses that go to memory rather than on releases: to PTX a race."""
        ...


@dataclass(frozen=True)
class Programs:
    """The kernel: ``parts`` one after the other, on inputs of ``seed``."""

    shape: Shape
    parts: tuple[Part, ...]
    num_warps: int
    num_stages: int
    seed: int

    @property
    def source(self) -> str:
        """The text of a module with the function ``kernel``."""
        from integration.random_programs.source import source

        return source(self)

    @property
    def productions(self) -> frozenset[str]:
        """The names of the patterns."""
        return frozenset(part.pattern for part in self.parts)


def numbers(shape: Shape, seed: int) -> Array:
    """Small whole numbers, shape (programs, block), as float64: sums of all programs' are exact in every type."""
    return np.random.default_rng(seed).integers(-4, 5, (shape.programs, shape.block)).astype(np.float64)
