"""fla-core: the functions of ``fla.ops``, against its own plain PyTorch (the modules named ``naive``) in float64."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from integration.published.cases import Check
from integration.published.operators import recipes
from integration.published.operators.differentiated import beside
from integration.published.operators.operator import NoArguments, Operator
from integration.published.projects import load

__all__ = ["operators", "reference_of"]

_NAME = "fla-core"
#: operators that take gates per feature under a name that others give to a gate per head
_FEATURES = ("gla", "gsa", "kda", "rwkv6", "hgrn", "precond_kda", "wall_attn")
#: what a parameter of an operator is called by its reference
_OTHER_NAMES = {"g": "gk", "gk": "g", "r": "q", "w": "gk", "a": "alpha", "b": "beta"}
#: operators whose options say what their reference does always
_OPTIONS: Mapping[str, Mapping[str, Any]] = {"linear_attn": {"normalize": False}}
#: plain versions that do what the kernels do, where others of the family do not: those decay the state before they read it
_PLAIN = {"comba": "naive_chunk_comba"}
#: families whose plain versions take (batch, heads, time, features)
_HEADS_FIRST = frozenset(
    {"abc", "based", "delta_rule", "dplr_delta_rule", "iplr_delta_rule", "retention", "rwkv6"}
)
#: operators that refuse float32
_HALF = frozenset({"chunk_delta_rule", "parallel_parallax"})


def operators(folder: Path) -> Iterator[Operator]:
    """Every function in ``fla.ops.__all__``."""
    package = load(_NAME, "fla.ops", folder)
    for name in sorted(package.__all__):
        function = getattr(package, name)
        if inspect.isfunction(function) or callable(function):
            yield Operator(_NAME, name, partial(_checks, name, function))


def _family(name: str) -> str:
    for way in ("fused_chunk_", "fused_recurrent_", "chunk_", "parallel_", "fused_"):
        if name.startswith(way):
            return name.removeprefix(way)
    return name


def reference_of(name: str) -> Callable[..., Any]:
    """The plain function that does what ``name`` does; NoArguments where the package has none."""
    family = _family(name)
    package = importlib.import_module("fla.ops")
    candidates = []
    for info in pkgutil.walk_packages(package.__path__, "fla.ops."):
        if "naive" not in info.name.rpartition(".")[2]:
            continue
        module = importlib.import_module(info.name)
        for key, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__:
                candidates.append((key, value, info.name.split(".")))
    exact = (
        [_PLAIN[family]]
        if family in _PLAIN
        else [f"naive_{way}{family}" for way in ("recurrent_", "parallel_", "", "chunk_")]
    )
    for wanted in exact:
        for key, value, _ in candidates:
            if key == wanted:
                return value
    family_of = {
        "delta_rule": "delta_rule_recurrence",
        "dplr_delta_rule": "dplr_recurrence",
        "iplr_delta_rule": "iplr_recurrence",
    }
    for key, value, _ in candidates:
        if key == family_of.get(family):
            return value
    raise NoArguments("the package has no plain version of it")


def _known(name: str) -> dict[str, Callable[[], Any]]:
    family = _family(name)
    features = family in _FEATURES
    known = dict(recipes.attention)
    gate = recipes.normal
    heads = (recipes.BATCH, recipes.TIME, recipes.HEADS)
    decays = lambda: F.logsigmoid(gate(*heads, recipes.FEATURES)) / 4  # noqa: E731
    known["g"] = decays if features else lambda: F.logsigmoid(gate(*heads)) / 4
    known["gk"] = known["w"] = decays
    known["a"] = lambda: -F.normalize(gate(*heads, recipes.FEATURES), dim=-1) / 2
    known["b"] = lambda: F.normalize(gate(*heads, recipes.FEATURES), dim=-1) / 2
    if family == "gsa":
        known["g"] = lambda: F.logsigmoid(gate(*heads, 16)) / 4
    if family == "hgrn":
        known["g"] = lambda: F.logsigmoid(gate(recipes.BATCH, recipes.TIME, recipes.FEATURES)) / 4
    if name == "fused_chunk_based":
        known["q"] = known["k"] = lambda: recipes.unit(features=16)
    if family == "nsa":
        # groups of 16 queries for a key; every block of keys is chosen
        known["q"] = lambda: recipes.unit(heads=16 * recipes.HEADS)
        known["block_indices"] = lambda: torch.zeros(*heads, 1, dtype=torch.int64)
    if family == "path_attn":
        known["w"] = lambda: F.normalize(gate(*heads, recipes.FEATURES), dim=-1)
    return known


def _checks(name: str, function: Callable[..., Any]) -> Iterator[Check]:
    family = _family(name)
    reference = reference_of(name)
    taken = set(inspect.signature(reference).parameters)
    optional = tuple(n for n in ("g", "gk", "beta", "p", "eta", "block_indices") if n in taken)
    given = recipes.arguments(function, _known(name), optional=optional)
    options = dict(_OPTIONS.get(family, {}))
    own = set(inspect.signature(function).parameters)
    scale = {"scale": recipes.FEATURES**-0.5} if "scale" in own and "scale" in taken else {}

    def plain(**values: Any) -> Any:
        named = {n if n in taken else _OTHER_NAMES.get(n, n): v for n, v in values.items()}
        unknown = sorted(set(named) - taken)
        if unknown:
            raise NoArguments(f"its plain version has no {', '.join(unknown)}")
        if family in _HEADS_FIRST:
            named = {n: t.transpose(1, 2) if t.dim() > 2 else t for n, t in named.items()}
        made = reference(**named, **{n: v for n, v in (options | scale).items() if n in taken})
        first = made[0] if isinstance(made, tuple) else made
        return first.transpose(1, 2) if family in _HEADS_FIRST else first

    def kernel(**values: Any) -> Any:
        return function(**values, **{n: v for n, v in (options | scale).items() if n in own})

    half = name in _HALF
    yield from beside(
        kernel,
        _in_double(plain),
        given,
        tolerance=3e-2 if half else 5e-3,
        dtype=torch.bfloat16 if half else torch.float32,
    )


def _in_double(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Plain versions go over to float32 by ``.float()`` and ``torch.float32``; here they stay in float64."""

    def run(**values: Any) -> Any:
        from unittest import mock

        double = torch.Tensor.double
        to = torch.Tensor.to
        keep = lambda t, *a, **k: double(t) if a and a[0] is torch.float32 else to(t, *a, **k)  # noqa: E731
        with mock.patch.object(torch.Tensor, "float", double), mock.patch.object(torch.Tensor, "to", keep):
            return plain(**values)

    return run
