"""Callbacks before a compile that neither memory nor the store could spare: they look, and may refuse."""

from __future__ import annotations

from collections.abc import Callable

from tri_core.compiler.source import IRSource, Source
from tri_core.lazy_dataclasses import dataclass
from tri_core.options import CommonOptions
from tri_core.target import Target

__all__ = ["Attempt", "before_compile", "pass_all"]


@dataclass(frozen=True)
class Attempt:
    """A compile that is about to run."""

    source: Source | IRSource
    target: Target
    options: CommonOptions


_gates: list[Callable[[Attempt], None]] = []


def before_compile(gate: Callable[[Attempt], None], *, is_first: bool = False) -> None:
    """Have ``gate`` called before every compile from now on, before the others if ``is_first``; what it raises ends the compile."""
    if gate not in _gates:
        _gates.insert(0 if is_first else len(_gates), gate)


def pass_all(attempt: Attempt) -> None:
    """Ask every gate."""
    for gate in _gates:
        gate(attempt)
