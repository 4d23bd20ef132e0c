"""flag-gems: every operator that it registers with PyTorch, against PyTorch's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from integration.published.cases import Check
from integration.published.operators import aten
from integration.published.operators.operator import Operator
from integration.published.projects import load

__all__ = ["operators"]

_NAME = "flag-gems"


def operators(folder: Path) -> Iterator[Operator]:
    """The operators of ``flag_gems._FULL_CONFIG``: names of PyTorch's operators with functions."""
    package = load(_NAME, "flag_gems", folder)
    listed = {entry[0]: entry[1] for entry in package._FULL_CONFIG}
    recorded = aten.record(_wanted(listed))
    for name, function in listed.items():
        yield Operator(_NAME, name, partial(_checks, name, function, recorded))


def _wanted(names: Iterable[str]) -> set[str]:
    """``names``, and those of relatives whose arguments do for them."""
    return {r for n in names for r in (n, *aten.relatives(n))}


def _checks(name: str, function: object, recorded: dict[str, list[aten.Call]]) -> Iterator[Check]:
    assert callable(function)
    yield from aten.against_pytorch(name, function, aten.calls(name, recorded))
