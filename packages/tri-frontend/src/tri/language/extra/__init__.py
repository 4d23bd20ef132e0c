"""``tl.extra``: ``libdevice``, and what plugins add to the language, each under its own name (``tl.extra.name``)."""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tri_core.plugins import PluginManager

__all__: list[str] = []


@functools.lru_cache
def _namespace(plugins: PluginManager, generation: int, name: str) -> ModuleType:
    for extension in plugins.languages():
        if extension.namespace == name:
            if extension.builtins:
                made = ModuleType(f"tri.language.extra.{name}")
                vars(made).update(extension.builtins)
                return made
            return importlib.import_module(extension.module)
    known = ", ".join(e.namespace for e in plugins.languages()) or "none"
    raise AttributeError(f"no plugin provides tri.language.extra.{name}; there are: {known}")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "libdevice":
        return importlib.import_module("tri.language.extra.libdevice")
    from tri_core.plugins import manager

    current = manager()
    return _namespace(current, current.generation, name)
