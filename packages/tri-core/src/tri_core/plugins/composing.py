"""Plugins that change the code of a compile, found while its pipeline is made.

A plugin may change code through ``tri_modify_pipeline`` and ``tri_lowering``, and most change that of few targets.
Each call is looked at: only who changed the pipeline is a part of the kernel's key.  Tables of lowering rules are often made
while stages run, after the key: a plugin that has rules and no backend is a part of every key, one that has a backend of its
own only of the keys of its targets, unless it is seen to add rules before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import Any

from tri_core.errors import BackendError
from tri_core.lazy_dataclasses import dataclass
from tri_core.pipeline import Pipeline
from tri_core.plugins.records import Plugin

__all__ = ["Composition", "Touched", "noting", "rules", "shape", "touched"]


@dataclass
class Touched:
    """The names of the plugins that changed something; ``sealed`` once a key may have been made of them."""

    names: set[str] = field(default_factory=set)
    sealed: bool = False

    def add(self, plugin: Plugin) -> None:
        """Note that ``plugin`` changed code; BackendError when it comes too late for the key."""
        if self.sealed and plugin.name not in self.names:
            raise BackendError(
                f"plugin {plugin.label}, which has a backend, adds lowering rules to a kernel of another backend while it is "
                "compiled, and is not in its key",
                hook="tri_lowering",
                backend="",
                remedy="put the rules into a plugin without a backend, or have tri_pipeline of the other one make its table",
            )
        self.names.add(plugin.name)


_current: ContextVar[Touched | None] = ContextVar("tri_touched", default=None)
#: what the compile of this thread or task notes; None outside of one
touched = _current.get


@dataclass(frozen=True)
class Composition:
    """A pipeline after every modification.

    ``inserted`` names the plugin of each pass put in, by pass name; ``touched`` every plugin that had a part in the
    pipeline, or may have one in lowering rules.
    """

    pipeline: Pipeline
    inserted: Mapping[str, Plugin] = field(default_factory=dict)
    touched: Touched = field(default_factory=Touched)

    @contextmanager
    def running(self) -> Iterator[None]:
        """While the stages run: a plugin that changes code only now is an error."""
        with noting(self.touched):
            yield


@contextmanager
def noting(notes: Touched) -> Iterator[None]:
    """Let ``notes`` collect what plugins do in a ``with`` block of this thread or task."""
    token = _current.set(notes)
    try:
        yield
    finally:
        _current.reset(token)


def shape(pipeline: Pipeline) -> tuple[object, ...]:
    """Fingerprint of a pipeline, to compare before and after a plugin: stages, passes and their options."""
    stages = [(stage, list(stage.passes.steps) if stage.passes else []) for stage in pipeline.stages]
    return pipeline.text(), stages


def rules(table: Any) -> object:
    """Fingerprint of a table of lowering rules, to compare before and after; a new one each time if it has
    none.
    """
    text = getattr(table, "text", None)
    return text() if callable(text) else object()
