"""mlstm-kernels: every kernel that its registry lists, against its own parallel PyTorch in float64.

The gradients are its own, too: its backward takes the normalizer for a constant, which derivatives of the forward do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from integration.published.cases import Check
from integration.published.operators import recipes
from integration.published.operators.differentiated import beside
from integration.published.operators.operator import Operator
from integration.published.projects import load

__all__ = ["operators"]

_NAME = "mlstm-kernels"
#: no fewer than keys in a block, and rows in two
_FEATURES, _TIME = 64, 128


def operators(folder: Path) -> Iterator[Operator]:
    """The kernels in Triton of ``get_available_mlstm_kernels()``."""
    package = load(_NAME, "mlstm_kernels.torch", folder)
    for name in package.get_available_mlstm_kernels():
        if "triton" in name:
            gates = "siging" if "siging" in name else "native"
            plain = "parallel--native_siging_custbw" if gates == "siging" else "parallel--native_custbw"
            reference = package.get_mlstm_kernel(plain)
            yield Operator(_NAME, name, partial(_checks, package.get_mlstm_kernel(name), reference))


def _checks(function: Callable[..., Any], reference: Callable[..., Any]) -> Iterator[Check]:
    heads = (recipes.BATCH, recipes.HEADS, max(recipes.TIME, _TIME))
    known = {n: partial(recipes.normal, *heads, _FEATURES) for n in "qkv"}
    known |= {n: partial(recipes.normal, *heads) for n in "if"}
    given = recipes.arguments(function, known)
    yield from beside(function, reference, given, tolerance=5e-3)
