"""flag-gems: every operator that it registers with PyTorch, against PyTorch's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from integration.published.cases import Check
from integration.published.operators import aten
from integration.published.operators.operator import Operator
from integration.published.projects import load

__all__ = ["operators"]

_NAME = "flag-gems"


def _weight_norms() -> Iterator[tuple[torch.Tensor, torch.Tensor, int]]:
    """Directions, lengths and the dimension that is not summed over: the first, or the last."""
    generator = torch.Generator().manual_seed(3)
    for shape, dim in (((6, 8), 0), ((3, 4, 8), 2)):
        lengths = [n if i == dim else 1 for i, n in enumerate(shape)]
        yield torch.randn(*shape, generator=generator), torch.randn(*lengths, generator=generator), dim


def _weight_norm_forward() -> Iterator[aten.Call]:
    for v, g, dim in _weight_norms():
        yield (v, g, dim), {}


def _weight_norm_backward() -> Iterator[aten.Call]:
    for v, g, dim in _weight_norms():
        _, norms = torch.ops.aten._weight_norm_interface(v, g, dim)
        yield (torch.ones_like(v).cumsum(0), v, g, norms, dim), {}


#: arguments of operators that no sample of PyTorch's leads to, and whose arguments belong together
_OWN: Mapping[str, Callable[[], Iterator[aten.Call]]] = {
    "_weight_norm_interface": _weight_norm_forward,
    "_weight_norm_interface_backward": _weight_norm_backward,
}


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
    own = _OWN.get(name)
    found = aten.calls(name, recorded, _required(function)) if own is None else list(own())
    yield from aten.against_pytorch(name, function, found)


def _required(function: Callable[..., Any]) -> frozenset[str]:
    """The parameters that ``function`` must be given."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return frozenset()
    return frozenset(p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD)
