"""Which plugins change the code of a compile, seen while its pipeline is made.

A plugin may change code through ``tri_modify_pipeline`` and ``tri_lowering``, and most change that of few targets.
Each call is looked at: only who changed the pipeline, or a table of lowering rules, is a part of the kernel's key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from tri_core.errors import BackendError
from tri_core.pipeline import Pipeline
from tri_core.plugins.records import Plugin

__all__ = ["Composition", "Touched", "noting", "rules", "shape", "touched"]


@dataclass
class Touched:
    """The names of the plugins that changed something; ``sealed`` once a key may have been made of them.

    ``owner``: the plugin of the backend, which is in every key of its targets.
    """

    names: set[str] = field(default_factory=set)
    sealed: bool = False
    owner: str | None = None

    def add(self, plugin: Plugin) -> None:
        """Note that ``plugin`` changed code; BackendError when it comes too late for the key."""
        if self.sealed and plugin.name not in {*self.names, self.owner}:
            raise BackendError(
                f"lowering rules of plugin {plugin.label} are asked for while a kernel is compiled, and they are not "
                "in its key",
                hook="tri_pipeline",
                backend="",
                remedy="call manager().lowering where tri_pipeline makes the pipeline",
            )
        self.names.add(plugin.name)


_current: ContextVar[Touched | None] = ContextVar("tri_touched", default=None)
#: what the compile of this thread or task notes; None outside of one
touched = _current.get


@dataclass(frozen=True)
class Composition:
    """A pipeline after every modification.

    ``inserted`` names the plugin of each pass put in, by pass name; ``touched`` every plugin but the owner that had a
    part in the pipeline.
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
    """Let ``notes`` be told of what plugins do in a ``with`` block of this thread or task."""
    token = _current.set(notes)
    try:
        yield
    finally:
        _current.reset(token)


def shape(pipeline: Pipeline) -> tuple[object, ...]:
    """What tells a pipeline from what it was before a plugin had it: stages, passes and their options."""
    stages = [(stage, list(stage.passes.steps) if stage.passes else []) for stage in pipeline.stages]
    return pipeline.text(), stages


def rules(table: Any) -> object:
    """What tells a table of lowering rules from what it was before; another one each time if it cannot say."""
    text = getattr(table, "text", None)
    return text() if callable(text) else object()
