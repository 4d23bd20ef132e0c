"""Sources of the operators of each package."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from integration.published.operators import conch, fla, gems, mlstm
from integration.published.operators.operator import Operator

__all__ = ["SOURCES"]

SOURCES: Mapping[str, Callable[[Path], Iterator[Operator]]] = {
    "conch-triton-kernels": conch.operators,
    "fla-core": fla.operators,
    "flag-gems": gems.operators,
    "mlstm-kernels": mlstm.operators,
}
