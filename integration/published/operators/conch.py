"""conch-triton-kernels: functions of ``conch.ops``, against ``conch.reference`` in float64, else against :mod:`.references`."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

from integration.published.cases import Check
from integration.published.operators import recipes
from integration.published.operators.differentiated import beside
from integration.published.operators.operator import NoArguments, Operator
from integration.published.operators.references import paged, quantized
from integration.published.projects import load

__all__ = ["operators"]

_NAME = "conch-triton-kernels"
_CASES = {**paged.CASES, **quantized.CASES}
_KNOWN: dict[str, Callable[[], Any]] = {
    "x": lambda: recipes.normal(recipes.ROWS, recipes.COLUMNS),
    "residual": lambda: recipes.normal(recipes.ROWS, recipes.COLUMNS),
    "weight": lambda: recipes.normal(recipes.COLUMNS),
    "epsilon": lambda: 1e-6,
    "variance_epsilon": lambda: 1e-6,
    "input_tensor": lambda: recipes.normal(recipes.ROWS, recipes.COLUMNS),
    "scale": lambda: torch.tensor([0.05]),
    "positions": lambda: torch.arange(recipes.ROWS),
    "query": lambda: recipes.normal(recipes.ROWS, recipes.COLUMNS),
    "key": lambda: recipes.normal(recipes.ROWS, recipes.COLUMNS),
    "head_size": lambda: 32,
    "cos_sin_cache": lambda: recipes.normal(2 * recipes.ROWS, 32),
}


def operators(folder: Path) -> Iterator[Operator]:
    """Public functions of modules below ``conch.ops``."""
    load(_NAME, "conch.ops", folder)
    ops = importlib.import_module("conch.ops")
    for info in pkgutil.walk_packages(ops.__path__, "conch.ops."):
        if info.ispkg:
            continue
        try:
            module = importlib.import_module(info.name)
        except ImportError:
            continue
        for name, function in vars(module).items():
            if inspect.isfunction(function) and function.__module__ == info.name and not name.startswith("_"):
                yield Operator(
                    _NAME,
                    f"{info.name.removeprefix('conch.ops.')}.{name}",
                    partial(_checks, info.name, name, function),
                )


def _checks(module: str, name: str, function: Callable[..., Any]) -> Iterator[Check]:
    case = _CASES.get(f"{module.removeprefix('conch.ops.')}.{name}")
    if case is not None:
        recipes.start()
        yield from case(function)
        return
    try:
        reference = getattr(importlib.import_module(module.replace("conch.ops", "conch.reference")), name)
    except (ImportError, AttributeError):
        raise NoArguments("the package has no plain version of it") from None
    given = recipes.arguments(function, _KNOWN, optional=("scale", "residual") if "quant" in name else ())
    more = {"rotary_dim": given["cos_sin_cache"].shape[-1]} if name == "rotary_embedding" else {}
    yield from beside(function, partial(reference, **more), given, tolerance=1e-3, backward=False)
