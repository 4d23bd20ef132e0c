"""``tl.extra``: ``libdevice``, and what plugins add to the language, each under its own name (``tl.extra.name``)."""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tri_core.plugin_records import LanguageExtension
    from tri_core.plugins import PluginManager

__all__: list[str] = []


def namespace_of(extension: LanguageExtension) -> ModuleType:
    """Names of ``extension``: its module as it is, where that is all; what is declared comes before what the module has."""
    from tri.language.foreign_values import value_class
    from tri.language.hints import modifier, scope

    hints = {n: modifier(extension, n, record) for n, record in extension.modifiers.items()}
    hints |= {n: scope(extension, n, record) for n, record in extension.scopes.items()}
    types = {n: value_class(extension, n, place) for n, place in extension.types.items()}
    declared = {**extension.builtins, **types, **hints}
    if not declared:
        return importlib.import_module(extension.module)
    made = ModuleType(f"tri.language.extra.{extension.namespace}")
    if extension.module and not extension.builtins:
        found = vars(importlib.import_module(extension.module))
        vars(made).update({n: value for n, value in found.items() if not n.startswith("__")})
    vars(made).update(declared)
    return made


@functools.lru_cache
def _namespace(plugins: PluginManager, generation: int, name: str) -> ModuleType:
    for extension in plugins.languages():
        if extension.namespace == name:
            return namespace_of(extension)
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
