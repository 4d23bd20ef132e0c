"""Arguments by the names that parameters have across packages: queries, gates, weights, ..."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from integration.published.operators.operator import NoArguments

__all__ = [
    "BATCH",
    "COLUMNS",
    "FEATURES",
    "HEADS",
    "ROWS",
    "SMALL",
    "TIME",
    "WIDE",
    "Sizes",
    "arguments",
    "attention",
    "normal",
    "start",
    "unit",
    "use",
]


@dataclass(frozen=True)
class Sizes:
    """Elements along each dimension: of sequences, and of matrices."""

    batch: int
    time: int
    heads: int
    features: int
    rows: int
    columns: int


#: what a processor judges in a second, and what fills a GPU
SMALL = Sizes(batch=1, time=64, heads=2, features=32, rows=20, columns=64)
WIDE = Sizes(batch=4, time=2048, heads=8, features=64, rows=4096, columns=4096)
BATCH, TIME, HEADS, FEATURES = SMALL.batch, SMALL.time, SMALL.heads, SMALL.features
ROWS, COLUMNS = SMALL.rows, SMALL.columns
_SLOTS = 16


def use(sizes: Sizes) -> None:
    """Have all arguments that are made from now on of ``sizes``."""
    global BATCH, TIME, HEADS, FEATURES, ROWS, COLUMNS
    BATCH, TIME, HEADS, FEATURES = sizes.batch, sizes.time, sizes.heads, sizes.features
    ROWS, COLUMNS = sizes.rows, sizes.columns


_generator = torch.Generator()


def start() -> None:
    """Start the generator of :func:`normal` anew: arguments do not depend on what was judged before."""
    _generator.manual_seed(7)


def normal(*shape: int) -> torch.Tensor:
    """Normal numbers, of the one generator that :func:`arguments` starts anew."""
    return torch.randn(*shape, generator=_generator)


def _heads(features: int | None = None) -> torch.Tensor:
    return normal(BATCH, TIME, HEADS, features or FEATURES)


def unit(*, heads: int | None = None, features: int | None = None) -> torch.Tensor:
    """Vectors of length 1: (batch, time, heads, features)."""
    return F.normalize(normal(BATCH, TIME, heads or HEADS, features or FEATURES), dim=-1)


def _rate() -> torch.Tensor:
    return normal(BATCH, TIME, HEADS).sigmoid()


def _decay() -> torch.Tensor:
    return F.logsigmoid(normal(BATCH, TIME, HEADS)) / 4


def _decays() -> torch.Tensor:
    return F.logsigmoid(_heads()) / 4


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
