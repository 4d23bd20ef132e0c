"""``tl.extra``: what plugins add to the language, each under its own namespace (``tl.extra.name``)."""

from __future__ import annotations

import functools
import importlib
from types import SimpleNamespace
from typing import Any

__all__: list[str] = []


@functools.lru_cache
def _namespace(generation: int, name: str) -> Any:
    from tri_core.plugins import manager

    for extension in manager().languages():
        if extension.namespace == name:
            if extension.builtins:
                return SimpleNamespace(__name__=f"tri.language.extra.{name}", **extension.builtins)
            return importlib.import_module(extension.module)
    known = ", ".join(e.namespace for e in manager().languages()) or "none"
    raise AttributeError(f"no plugin provides tri.language.extra.{name}; there are: {known}")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from tri_core.plugins import manager

    return _namespace(manager().generation, name)
