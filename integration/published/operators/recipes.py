"""Arguments by the names that parameters have across packages: queries, gates, weights, ..."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from integration.published.operators.operator import NoArguments

__all__ = ["BATCH", "FEATURES", "HEADS", "TIME", "arguments", "attention", "normal", "start", "unit"]

BATCH, TIME, HEADS, FEATURES = 1, 64, 2, 32
_SLOTS = 16

_generator = torch.Generator()


def start() -> None:
    """Start the generator of :func:`normal` anew: arguments do not depend on what was judged before."""
    _generator.manual_seed(7)


def normal(*shape: int) -> torch.Tensor:
    """Normal numbers, of the one generator that :func:`arguments` starts anew."""
    return torch.randn(*shape, generator=_generator)


def _heads(features: int = FEATURES) -> torch.Tensor:
    return normal(BATCH, TIME, HEADS, features)


def unit(*, heads: int = HEADS, features: int = FEATURES) -> torch.Tensor:
    """Vectors of length 1: (batch, time, heads, features)."""
    return F.normalize(normal(BATCH, TIME, heads, features), dim=-1)


def _rate() -> torch.Tensor:
    return normal(BATCH, TIME, HEADS).sigmoid()


def _decay() -> torch.Tensor:
    return F.logsigmoid(normal(BATCH, TIME, HEADS)) / 4


def _decays(features: int = FEATURES) -> torch.Tensor:
    return F.logsigmoid(_heads(features)) / 4


#: by the name of a parameter, for sequences of (batch, time, heads, features)
attention: Mapping[str, Callable[[], Any]] = {
    "q": unit,
    "k": unit,
    "r": unit,
    "v": lambda: _heads(),
    "p": unit,
    "beta": _rate,
    "eta": _rate,
    "lamb": lambda: normal(HEADS, FEATURES).sigmoid() + 0.5,
    "s": lambda: _heads(_SLOTS),
    "u": lambda: normal(HEADS, FEATURES) / 4,
    "x": lambda: normal(BATCH, TIME, FEATURES),
    "log_alpha": _decay,
    "log_mu": _decay,
    "alpha": lambda: unit() / 4,
    "scale": lambda: FEATURES**-0.5,
}


def arguments(
    function: Callable[..., Any], known: Mapping[str, Callable[[], Any]], *, optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Arguments of ``function`` by name: all that it must have, and those of ``optional`` that it can have.

    NoArguments names a parameter that is not known.
    """
    start()
    made: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is not parameter.empty and name not in optional:
            continue
        if name not in known:
            raise NoArguments(f"nothing is known of its parameter {name}")
        made[name] = known[name]()
    return made
