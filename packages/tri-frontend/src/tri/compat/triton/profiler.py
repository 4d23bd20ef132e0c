"""``triton.profiler``: scopes and their names; nothing collects them but the log, where they have their time on the host."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import ContextDecorator
from contextvars import ContextVar
from typing import Any, Self

from tri_core.errors import ArgumentError

__all__ = ["cpu_timed_scope", "enter_scope", "exit_scope", "scope"]

logger = logging.getLogger(__name__)

#: names of the scopes around, with when each was entered; outermost first
_around: ContextVar[tuple[tuple[str, float], ...]] = ContextVar("tri_profiler_scopes", default=())


def enter_scope(name: str, *, metrics: Mapping[str, Any] | None = None) -> int | None:
    """Enter a scope; None, as outside of a profiler's session. ``metrics`` are those of a profiler, which is not here."""
    del metrics
    _around.set((*_around.get(), (name, time.perf_counter())))
    return None


def exit_scope(name: str | None = None, *, metrics: Mapping[str, Any] | None = None) -> int | None:
    """Leave the innermost scope; ArgumentError where there is none, or where it has another ``name``."""
    del metrics
    names = _around.get()
    if not names or name not in (None, names[-1][0]):
        innermost = f"the innermost is {names[-1][0]!r}" if names else "none was entered"
        raise ArgumentError(
            f"exit_scope of {name!r}, but {innermost}",
            remedy="leave scopes in the order opposite to entering",
        )
    _around.set(names[:-1])
    path = "/".join(entered for entered, _ in names)
    logger.debug("%s: %.3f ms on the host", path, 1e3 * (time.perf_counter() - names[-1][1]))
    return None


class scope(ContextDecorator):
    """A named part of a program: ``with scope(name):``, or a decorator of a function."""

    def __init__(self, name: str, metrics: Mapping[str, Any] | None = None) -> None:
        self.name = name
        self.metrics = metrics

    def _recreate_cm(self) -> Self:
        return type(self)(self.name, self.metrics)

    def __enter__(self) -> Self:
        enter_scope(self.name, metrics=self.metrics)
        return self

    def __exit__(self, *error: object) -> None:
        exit_scope(self.name)


class cpu_timed_scope(scope):
    """A :class:`scope`; the log has the time on the host of every one."""
