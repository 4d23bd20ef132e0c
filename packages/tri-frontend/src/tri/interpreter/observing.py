"""Values that a launch in the interpreter computes and stores, for those who want to know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from tri.interpreter.allocations import Part
from tri.interpreter.arrays import Array, Data

__all__ = ["Observer", "observed", "observer"]

Program = tuple[int, int, int]


class Observer(Protocol):
    """Recorder of what programs do, in the order in which they do it; Python's stack is that of the kernel meanwhile."""

    def computed(
        self,
        program: Program,
        op: str,
        operands: Sequence[Array],
        results: Sequence[Array],
        attributes: Mapping[str, Any],
        body: Sequence[str],
    ) -> None:
        """``program`` ran ``op``; ``body``: the ops that ran in a region of it, which are not told of by themselves."""
        ...

    def stored(self, program: Program, part: Part, values: Data, *, adds: bool, commutes: bool) -> None:
        """``program`` is about to store ``values``, while an op runs; an atomic ``adds`` floats, or ``commutes`` with others of its kind."""
        ...


_observer: ContextVar[Observer | None] = ContextVar("tri_interpreter_observer", default=None)

#: the observer of launches in this thread or task, or None
observer = _observer.get


@contextmanager
def observed(by: Observer) -> Iterator[None]:
    """Launches inside the ``with`` block that are interpreted tell ``by``."""
    token = _observer.set(by)
    try:
        yield
    finally:
        _observer.reset(token)
