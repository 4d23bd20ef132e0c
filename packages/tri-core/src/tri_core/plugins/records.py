"""Records of plugins, and reasons for not using one."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from dataclasses import field
from types import ModuleType
from typing import Literal

from tri_core.errors import PluginError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Candidate", "Phase", "Plugin", "PluginRecord", "QuarantineRecord", "State"]

#: when a plugin was refused
Phase = Literal["import", "api", "requires", "preflight", "register", "hook", "duplicate"]
State = Literal["active", "disabled", "quarantined"]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A plugin that may be loaded: its entry-point name, distribution and how its module is imported."""

    name: str
    module: str
    load: Callable[[], object] = field(repr=False, compare=False)
    dist: str = ""
    version: str = ""
    distribution: importlib.metadata.Distribution | None = field(default=None, repr=False, compare=False)

    @property
    def label(self) -> str:
        """``name (dist version)`` as messages say it."""
        return f"{self.name} ({self.dist} {self.version})" if self.dist else self.name


@dataclass(frozen=True, kw_only=True)
class PluginRecord:
    """One line of ``tri plugins``."""

    name: str
    module: str
    dist: str
    version: str
    state: State
    api: tuple[int, int] | None = None
    hooks: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class QuarantineRecord:
    """Reason that a plugin is not used: the phase, the error's text and traceback, what it would have
    provided.
    """

    plugin: str
    dist: str
    version: str
    phase: Phase
    reason: str
    traceback: str = ""
    backends: tuple[str, ...] = ()
    api: tuple[int, int] | None = None
    error: BaseException | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        where = f" ({self.dist} {self.version})" if self.dist else ""
        return f"{self.plugin}{where} [{self.phase}]: {self.reason}"

    def to_error(self, message: str) -> PluginError:
        """A :class:`PluginError` that starts with ``message`` and carries the original reason."""
        made = PluginError(
            f"{message}: {self.reason}",
            plugin=self.plugin,
            remedy=f"repair or uninstall {self.dist or self.plugin}, or leave it out with "
            f"TRI_DISABLE_PLUGINS={self.plugin}; `tri plugins` shows details",
        )
        if self.traceback:
            made.add_note(f"the plugin's error was:\n{self.traceback}")
        made.__cause__ = self.error
        return made


@dataclass(frozen=True, eq=False, kw_only=True)
class Plugin:
    """An active plugin: its candidate, its module and the hooks that it implements."""

    candidate: Candidate
    module: ModuleType
    api: tuple[int, int]
    hooks: tuple[str, ...]

    @property
    def name(self) -> str:
        """The entry-point name."""
        return self.candidate.name

    @property
    def label(self) -> str:
        """``name (dist version)`` as messages say it."""
        return self.candidate.label
