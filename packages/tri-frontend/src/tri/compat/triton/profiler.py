"""``triton.profiler``: scopes and their names, which ``tri profile`` records with launches; the log has their time on the host."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import ContextDecorator
from typing import Any, Self

from tri.profiling import scopes
from tri_core.errors import ArgumentError

__all__ = ["cpu_timed_scope", "enter_scope", "exit_scope", "scope"]

logger = logging.getLogger(__name__)


def enter_scope(name: str, *, metrics: Mapping[str, Any] | None = None) -> int | None:
    """Enter a scope; None, as outside of a profiler's session. ``metrics`` are those of a profiler, which is not here."""
    del metrics
    scopes.enter(name)
    return None


def exit_scope(name: str | None = None, *, metrics: Mapping[str, Any] | None = None) -> int | None:
    """Leave the innermost scope; ArgumentError where there is none, or where it has another ``name``."""
    del metrics
    names = scopes.path()
    if not names or name not in (None, names[-1]):
        innermost = f"the innermost is {names[-1]!r}" if names else "none was entered"
        raise ArgumentError(
            f"exit_scope of {name!r}, but {innermost}",
            remedy="leave scopes in the order opposite to entering",
        )
    logger.debug("%s: %.3f ms on the host", "/".join(names), 1e3 * scopes.leave())
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
