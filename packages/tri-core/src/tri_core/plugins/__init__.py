"""Plugins: found by entry points, checked, kept apart, and asked through :func:`manager`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tri_core import forks, knobs
from tri_core.plugins.composing import Composition
from tri_core.plugins.loading import candidate_of
from tri_core.plugins.manager import PluginManager, fingerprint_of
from tri_core.plugins.records import Candidate, PluginRecord, QuarantineRecord

__all__ = [
    "Candidate",
    "Composition",
    "PluginManager",
    "PluginRecord",
    "QuarantineRecord",
    "candidate_of",
    "fingerprint_of",
    "manager",
    "use",
]

_lock = forks.Lock()
_manager: PluginManager | None = None


def manager() -> PluginManager:
    """The process's plugin manager; made at the first call, loads plugins when it is first asked something."""
    global _manager
    if _manager is None:
        with _lock:
            if _manager is None:
                _manager = PluginManager()
    return _manager


@contextmanager
def use(other: PluginManager) -> Iterator[PluginManager]:
    """Make ``other`` the process's manager inside a ``with`` block (all threads): for tests and tools."""
    global _manager
    with _lock:
        before, _manager = _manager, other
    try:
        yield other
    finally:
        with _lock:
            _manager = before


def _learn_knobs() -> None:
    manager().knobs()


knobs.set_discovery(_learn_knobs)
