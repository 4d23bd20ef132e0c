"""Loading one plugin: import, version checks, preflight, registration; all or nothing."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

import pluggy

from tri_core.errors import PluginError
from tri_core.foreign import Contained, describe
from tri_core.plugins.preflight import check_api, check_core, check_requires, hooks_of
from tri_core.plugins.records import Candidate, Phase, Plugin, QuarantineRecord

__all__ = ["Refused", "candidate_of", "load", "quarantined"]

T = TypeVar("T")


class Refused(Exception):
    """A plugin failed in ``phase``; ``__cause__`` is its error."""

    def __init__(self, phase: Phase) -> None:
        super().__init__(phase)
        self.phase = phase


def candidate_of(module: ModuleType, *, name: str = "", dist: str = "", version: str = "") -> Candidate:
    """A candidate for a plugin module that is imported already; its files are hashed where it has any."""
    return Candidate(
        name=name or module.__name__.rpartition(".")[2],
        module=module.__name__,
        load=lambda: module,
        dist=dist,
        version=version,
    )


def load(candidate: Candidate, pm: pluggy.PluginManager) -> Plugin:
    """Import, check and register ``candidate``; :class:`Refused` when anything fails, nothing stays behind."""
    _phase("requires", lambda: check_core(candidate.name, candidate.distribution))
    module = _phase("import", lambda: _import(candidate))
    api = _phase("api", lambda: check_api(candidate.name, module))
    _phase("requires", lambda: check_requires(candidate.name, module))
    hooks = _phase("preflight", lambda: hooks_of(candidate.name, module))
    _phase("register", lambda: _register(candidate, module, pm))
    return Plugin(candidate=candidate, module=module, api=api, hooks=hooks)


def _phase(phase: Phase, work: Callable[[], T]) -> T:
    try:
        with Contained():
            return work()
    except Refused:
        raise
    except Exception as error:
        raise Refused(phase) from error


def _import(candidate: Candidate) -> ModuleType:
    module = candidate.load()
    if not isinstance(module, ModuleType):
        raise PluginError(
            f"{candidate.module} is {type(module).__name__}, not a module",
            plugin=candidate.name,
            remedy="name a module in the entry point: 'package.plugin', without a colon",
        )
    return module


def _register(candidate: Candidate, module: ModuleType, pm: pluggy.PluginManager) -> None:
    try:
        pm.register(module, name=candidate.name)
    except BaseException:
        # pluggy leaves a plugin half registered when a hook of it is refused
        if pm.is_registered(module):
            pm.unregister(module)
        raise


def quarantined(
    candidate: Candidate,
    phase: Phase,
    error: BaseException,
    *,
    backends: tuple[str, ...] = (),
    api: tuple[int, int] | None = None,
) -> QuarantineRecord:
    """The record of a plugin that failed with ``error`` in ``phase``."""
    return QuarantineRecord(
        plugin=candidate.name,
        dist=candidate.dist,
        version=candidate.version,
        phase=phase,
        reason=_reason(error),
        traceback="".join(traceback.format_exception(error)),
        backends=backends,
        api=api,
        error=error,
    )


def _reason(error: BaseException) -> str:
    """The error on one line; core's own refusals are given without the name of their class."""
    if not isinstance(error, PluginError):
        return describe(error)
    return f"{error.message} ({error.remedy})" if error.remedy else error.message
