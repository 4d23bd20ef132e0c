"""Named parts of a program: a launch is recorded with the names of those around it."""

from __future__ import annotations

import time
from contextvars import ContextVar

__all__ = ["AROUND", "enter", "leave", "path"]

#: names of the scopes around, with when each was entered (``time.perf_counter``); outermost first
AROUND: ContextVar[tuple[tuple[str, float], ...]] = ContextVar("tri_scopes", default=())


def path() -> tuple[str, ...]:
    """The names of the scopes around, outermost first."""
    return tuple(name for name, _ in AROUND.get())


def enter(name: str) -> None:
    """Enter the scope ``name`` in this thread or task."""
    AROUND.set((*AROUND.get(), (name, time.perf_counter())))


def leave() -> float:
    """Leave the innermost scope, of which there is one; seconds since it was entered, by the host's clock."""
    around = AROUND.get()
    AROUND.set(around[:-1])
    return time.perf_counter() - around[-1][1]
