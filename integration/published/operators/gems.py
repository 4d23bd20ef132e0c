"""flag-gems: every operator that it registers with PyTorch, against PyTorch's, else :mod:`.references`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from integration.published.cases import Check
from integration.published.operators import aten
from integration.published.operators.gems_arguments import OWN, REFERENCES
from integration.published.operators.operator import Operator
from integration.published.operators.references.others import CASES
from integration.published.projects import load

__all__ = ["operators", "required"]

_NAME = "flag-gems"


def operators(folder: Path) -> Iterator[Operator]:
    """The operators of ``flag_gems._FULL_CONFIG``: names of PyTorch's operators with functions."""
    package = load(_NAME, "flag_gems", folder)
    _look_for_the_host(package)
    listed = {entry[0]: entry[1] for entry in package._FULL_CONFIG}
    recorded = aten.record(_wanted(listed))
    for name, function in listed.items():
        yield Operator(_NAME, name, partial(_checks, name, function, recorded))


def _look_for_the_host(package: Any) -> None:
    """Have the package's own checks of devices hold for tensors in host memory.

    As its vendor of processors would, whose device is ``cpu`` and which its list of vendors leaves out.
    """
    gpu = package.device
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == package.__name__ and vars(module).get("device") == gpu:
            vars(module)["device"] = "cpu"


def _wanted(names: Iterable[str]) -> set[str]:
    """``names``, and those of relatives whose arguments do for them."""
    return {r for n in names for r in (n, *aten.relatives(n))}


def _checks(name: str, function: object, recorded: dict[str, list[aten.Call]]) -> Iterator[Check]:
    assert callable(function)
    if name in CASES:
        yield from CASES[name](function)
        return
    own = OWN.get(name)
    found = aten.calls(name, recorded, required(function), aten.samples()) if own is None else list(own())
    yield from aten.against_pytorch(name, function, found, REFERENCES.get(name))


def required(function: Callable[..., Any]) -> frozenset[str]:
    """The parameters that ``function`` must be given."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return frozenset()
    return frozenset(p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD)
