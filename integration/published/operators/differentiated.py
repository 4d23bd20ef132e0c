"""Forward and backward of a function beside a reference in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from integration.published.cases import Check
from integration.published.operators.operator import checks_of

__all__ = ["beside", "first", "fresh", "leaves"]


def leaves(given: Mapping[str, Any], dtype: torch.dtype, whole: frozenset[str]) -> dict[str, Any]:
    """``given`` with floating-point tensors as new leaves of ``dtype``, which want gradients but for those named in ``whole``."""
    return {
        name: value.detach().to(dtype).clone().requires_grad_(name not in whole)
        if isinstance(value, torch.Tensor) and value.is_floating_point()
        else value
        for name, value in given.items()
    }


def fresh(given: Mapping[str, Any]) -> dict[str, Any]:
    """``given`` behind an operation on each leaf: some kernels write into their arguments."""
    return {n: t * 1 if isinstance(t, torch.Tensor) and t.requires_grad else t for n, t in given.items()}


def first(value: Any) -> torch.Tensor:
    """The result: the first of several, such as outputs and a state."""
    found: torch.Tensor = value[0] if isinstance(value, (tuple, list)) else value
    return found


def beside(
    function: Callable[..., Any],
    reference: Callable[..., Any],
    given: Mapping[str, Any],
    *,
    tolerance: float = 1e-3,
    constant: frozenset[str] = frozenset(),
    backward: bool = True,
    dtype: torch.dtype = torch.float32,
) -> Iterator[Check]:
    """``function(**given)`` in ``dtype`` beside ``reference(**given)`` in float64, with the gradients of all floats but ``constant``.

    A function that says that it has no backward is compared forward only.
    """
    rounded = leaves(given, dtype, constant)
    mine, exact = (leaves(rounded, kind, constant) for kind in (dtype, torch.float64))
    got = first(function(**fresh(mine)))
    want = first(reference(**exact))
    yield from checks_of("out", got, want, tolerance)
    if not (backward and want.requires_grad and got.requires_grad):
        return
    weight = torch.randn(want.shape, generator=torch.Generator().manual_seed(1))
    want.backward(weight.double())
    try:
        got.backward(weight.to(got.dtype).reshape(got.shape))
    except NotImplementedError:
        return
    for name, leaf in exact.items():
        if isinstance(leaf, torch.Tensor) and leaf.grad is not None:
            gradient = mine[name].grad
            if gradient is None:
                raise AssertionError(f"no gradient of {name}")
            yield from checks_of(f"d{name}", gradient, leaf.grad, tolerance, 1e-5)
