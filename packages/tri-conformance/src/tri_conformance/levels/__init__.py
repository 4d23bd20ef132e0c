"""The levels, in the order in which a new backend passes them: name -> what makes its cases."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator

from tri_conformance.case import Case

__all__ = ["LEVELS"]


def _of(module: str) -> Callable[[], Iterator[Case]]:
    def make() -> Iterator[Case]:
        found: Iterator[Case] = importlib.import_module(f"tri_conformance.levels.{module}").cases()
        return found

    return make


LEVELS: dict[str, Callable[[], Iterator[Case]]] = {
    name: _of(name)
    for name in ("static", "layouts", "language", "pipeline", "runtime", "programs", "explicit")
}
