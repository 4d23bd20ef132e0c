"""Classes of values that plugins add to the language: structures of its own values, which cross loops, branches and calls as these do."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from tri.language.hints import check_target
from tri.language.structure import Structure
from tri_core.errors import PluginError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri_core.plugin_records import LanguageExtension

__all__ = ["check_class", "value_class"]

#: class -> the extension that it belongs to, and its name there
_owners: WeakKeyDictionary[type, tuple[LanguageExtension, str]] = WeakKeyDictionary()


def value_class(extension: LanguageExtension, name: str, place: str) -> type[Structure]:
    """The class at ``place`` (``module:attribute``), ``tl.extra.acme.name``; PluginError for what is no class of such values."""
    module, _, attribute = place.partition(":")
    found: Any = getattr(importlib.import_module(module), attribute, None)
    if not (isinstance(found, type) and issubclass(found, Structure)):
        raise PluginError(
            f"tl.extra.{extension.namespace}.{name} is {found!r}, not a class of values",
            remedy="decorate a class with tri.aggregate, or derive it from tri.language.structure.Structure",
        )
    _owners[found] = (extension, name)
    return found


def check_class(kind: Any, b: Builder) -> None:
    """Unsupported where the kernel is compiled for a backend that the extension of the class ``kind`` is not of."""
    found = _owners.get(kind) if isinstance(kind, type) else None
    if found is not None:
        extension, name = found
        check_target(extension, f"tl.extra.{extension.namespace}.{name}", b)
