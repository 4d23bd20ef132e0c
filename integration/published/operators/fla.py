"""fla-core: the functions of ``fla.ops``, in float64 against its own plain PyTorch (the modules named ``naive``), else :mod:`.references`."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from integration.published.cases import Check
from integration.published.operators import recipes
from integration.published.operators.differentiated import beside
from integration.published.operators.fla_arguments import OPTIONAL, OPTIONS, known
from integration.published.operators.operator import NoArguments, Operator
from integration.published.operators.references.sequences import REFERENCES
from integration.published.projects import load

__all__ = ["operators", "reference_of"]

_NAME = "fla-core"
#: what a parameter of an operator is called by its reference
_OTHER_NAMES = {"g": "gk", "gk": "g", "r": "q", "w": "gk", "a": "alpha", "b": "beta"}
#: plain versions that do what the kernels do, where others of the family do not: those decay the state before they read it
_PLAIN = {"comba": "naive_chunk_comba", "mesa_net": "naive_mesa_net_exact"}
#: second names
_ALIASES = {"gdn": "gated_delta_rule"}
#: families whose plain versions take (batch, heads, time, features)
_HEADS_FIRST = frozenset(
    {"abc", "based", "delta_rule", "dplr_delta_rule", "iplr_delta_rule", "retention", "rwkv6"}
)
#: families that bring queries and keys to length 1 themselves, and their plain versions do not
_NORMALIZED = frozenset({"precond_kda"})
#: operators that refuse arguments that need gradients
_FORWARD = frozenset({"fused_recurrent_cyfa"})
#: operators that refuse float32
_HALF = frozenset({"chunk_delta_rule", "chunk_momentum_delta_rule", "parallel_parallax"})


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
            stem = name.removeprefix(way)
            return _ALIASES.get(stem, stem)
    return name


def reference_of(name: str) -> Callable[..., Any]:
    """The plain function that does what ``name`` does; NoArguments where the package has none."""
    family = _family(name)
    if family in REFERENCES:
        return REFERENCES[family]
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


def _checks(name: str, function: Callable[..., Any]) -> Iterator[Check]:
    family = _family(name)
    reference = reference_of(name)
    taken = set(inspect.signature(reference).parameters)
    optional = tuple(n for n in OPTIONAL if n in taken)
    given = recipes.arguments(function, known(name, family), optional=optional)
    own = set(inspect.signature(function).parameters)
    scale = {"scale": recipes.FEATURES**-0.5} if "scale" in own and "scale" in taken else {}
    options = dict(OPTIONS.get(family, {})) | scale

    def plain(**values: Any) -> Any:
        named = {n if n in taken else _OTHER_NAMES.get(n, n): v for n, v in _apart(values).items()}
        unknown = sorted(set(named) - taken - set(options))
        if unknown:
            raise NoArguments(f"its plain version has no {', '.join(unknown)}")
        if family in _HEADS_FIRST:
            named = {n: t.transpose(1, 2) if t.dim() > 2 else t for n, t in named.items()}
        if family in _NORMALIZED:
            named |= {n: F.normalize(named[n], dim=-1) for n in ("q", "k")}
        made = reference(**{n: v for n, v in (options | named).items() if n in taken})
        first = made[0] if isinstance(made, tuple) else made
        return first.transpose(1, 2) if family in _HEADS_FIRST else first

    def kernel(**values: Any) -> Any:
        return function(**{n: v for n, v in options.items() if n in own} | _apart(values))

    half = name in _HALF
    yield from beside(
        kernel,
        _in_double(plain),
        given,
        tolerance=3e-2 if half else 5e-3,
        dtype=torch.bfloat16 if half else torch.float32,
        constant=frozenset(given) if name in _FORWARD else frozenset(),
    )


def _apart(values: dict[str, Any]) -> dict[str, Any]:
    """``values`` with the layers' residuals as a list of tensors, as the operators take them."""
    return {n: list(v.unbind(0)) if n == "residuals" else v for n, v in values.items()}


def _in_double(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Plain versions go over to float32 by ``.float()`` and ``torch.float32``; here they stay in float64."""

    def run(**values: Any) -> Any:
        from unittest import mock

        double = torch.Tensor.double
        to = torch.Tensor.to
        keep = lambda t, *a, **k: double(t) if a and a[0] is torch.float32 else to(t, *a, **k)  # noqa: E731
        # states that start empty are of the default dtype
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            with (
                mock.patch.object(torch.Tensor, "float", double),
                mock.patch.object(torch.Tensor, "to", keep),
            ):
                return plain(**values)
        finally:
            torch.set_default_dtype(before)

    return run
