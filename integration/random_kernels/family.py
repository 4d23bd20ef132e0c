"""A family of random kernels: what a sweep has to know of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from integration.random_kernels import persist, running, shrinking, strategy
from integration.random_kernels.values import Array

__all__ = ["KERNELS", "Family", "Kernel"]


class Kernel(Protocol):
    """A random kernel of any family."""

    @property
    def source(self) -> str:
        """Its text."""
        ...

    @property
    def productions(self) -> frozenset[str]:
        """The names of what it is made of."""
        ...


@dataclass(frozen=True)
class Family:
    """Module-level functions, so that other processes find them.

    ``seeded(seed, number)`` draws a kernel; ``run(kernel, target, schedules)`` gives what it stores, ``numpy`` being what is
    expected, in so many orders where the target is simulated;
    ``difference(kernel, names, left, right)`` is a text, None when both agree; ``shrunk(kernel, fails)`` is the smallest
    kernel that fails; ``save(kernel, path, why)`` keeps one.
    """

    what: str
    seeded: Callable[[int, int], Any]
    run: Callable[..., Sequence[Array]]
    difference: Callable[[Any, tuple[str, str], Sequence[Array], Sequence[Array]], str | None]
    shrunk: Callable[[Any, Callable[[Any], bool]], Any]
    save: Callable[[Any, Path, str], None]


KERNELS = Family(
    "random kernels", strategy.seeded, running.run, running.difference, shrinking.shrunk, persist.save
)
