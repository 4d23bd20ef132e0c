"""A target with a pass left out or put in: what tests of passes compare with the target as it is.

The change is a plugin like any other, so that the cache's keys know of it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from tri.launch.dispatcher import forget
from tri_core import plugins
from tri_core.api import Anchor, Pass, PassList, Pipeline, hookimpl
from tri_core.plugins import PluginManager, candidate_of
from tri_core.target_selection import resolve

__all__ = ["MANDATORY", "Change", "changed", "optional_passes", "passes_of"]

#: passes over TTGIR that cannot be left out, and why
MANDATORY = {
    "convert-triton-to-tritongpu": "it makes TTGIR of TTIR: every later step reads the layouts that it gives",
    "lower-descriptors-to-tma": "accesses through descriptors, where TTIR keeps them, are lowered by nothing else",
    "create-tensormaps": "descriptors of what only the kernel knows are lowered by nothing else",
    "allocate-shared-memory": "a buffer without a place cannot be lowered",
    "insert-barriers": "without barriers threads race for shared memory",
}


@dataclass(frozen=True)
class Change:
    """``without``: a pass that is left out of ``stage``; ``more``: one put in after the anchor ``at`` (the stage's end)."""

    stage: str = "ttgir"
    without: str = ""
    more: Pass | None = None
    at: str = ""

    def __bool__(self) -> bool:
        return bool(self.without) or self.more is not None

    def apply(self, pipeline: Pipeline) -> None:
        """Change ``pipeline``; ValueError when it has no pass of that name."""
        passes = pipeline[self.stage].passes
        if passes is None:
            raise ValueError(f"the stage {self.stage} has no passes")
        if self.without:
            if self.without not in names_of(passes):
                raise ValueError(f"no pass {self.without!r} in {self.stage}; there are {names_of(passes)}")
            passes.steps = [s for s in passes.steps if isinstance(s, Anchor) or s.name != self.without]
        if self.more is not None:
            passes.insert(self.at or f"{self.stage}.end", self.more)


def names_of(passes: PassList) -> list[str]:
    """Names of the passes, in order."""
    return [s.name for s in passes.steps if not isinstance(s, Anchor)]


def passes_of(target: str, stage: str = "ttgir") -> list[str]:
    """The passes of ``stage`` of ``target``, in order."""
    found = resolve(target)
    passes = plugins.manager().compose(found, found.options_type.parse({})).pipeline[stage].passes
    return [] if passes is None else names_of(passes)


def optional_passes(target: str) -> list[str]:
    """The passes over TTGIR of ``target`` that may be left out: all that are not in :data:`MANDATORY`, each once."""
    return list(dict.fromkeys(name for name in passes_of(target) if name not in MANDATORY))


@cache
def _manager(backend: str, change: Change) -> PluginManager:
    @hookimpl
    def tri_modify_pipeline(pipeline: Pipeline) -> None:
        change.apply(pipeline)

    @hookimpl
    def tri_cache_key() -> dict[str, str]:
        return {"change": repr(change)}

    module = ModuleType("changes")
    module.__dict__.update(
        TRI_PLUGIN_API=(1, 0), tri_modify_pipeline=tri_modify_pipeline, tri_cache_key=tri_cache_key
    )
    own = importlib.import_module(f"tri_backend_{backend}.plugin")
    return PluginManager([candidate_of(own), candidate_of(module, name="changes")])


@contextmanager
def changed(target: str, change: Change) -> Iterator[None]:
    """The backend of ``target`` alone, with ``change``; the usual plugins when it changes nothing."""
    if not change:
        yield
        return
    backend = target.removeprefix("sim:").partition(":")[0]
    forget()
    try:
        with plugins.use(_manager(backend, change)):
            yield
    finally:
        forget()
