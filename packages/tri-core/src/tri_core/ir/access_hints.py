"""Hints of loads and stores that change no result: where in the caches the bytes go, and what plugins add.

A pass that makes an access in place of another of a different kind keeps :func:`access_hints` of the old one; where both are of one
kind it keeps all attributes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tri_core.ir.markers import marker
from tri_core.mlir import ir

if TYPE_CHECKING:
    from tri_core.plugin_records import LanguageExtension

__all__ = ["access_hints", "has_hints", "plugin_hints", "register_hints"]

#: hints of tri itself; 1 is what an access without it has
_CACHE = ("cache", "evict")
#: full names of plugins' modifiers and scopes
_OF_PLUGINS: set[str] = set()


def register_hints(extensions: Iterable[LanguageExtension]) -> None:
    """Register what ``extensions`` have operations carry as markers: modifiers of accesses, and scopes."""
    for extension in extensions:
        for names, meaning in (
            (extension.modifiers, "accesses with this modifier"),
            (extension.scopes, "operations in this scope"),
        ):
            for name in names:
                full = f"{extension.namespace}.{name}"
                _OF_PLUGINS.add(marker(full, meaning, written=("frontend",), read=("lowering",)))


def plugin_hints(op: ir.Operation) -> dict[str, ir.Attribute]:
    """Hints on ``op`` by modifiers and scopes of plugins, by their full names (``acme.cache``)."""
    if not _OF_PLUGINS:
        return {}
    return {name: op.attributes[name] for name in op.attributes if name in _OF_PLUGINS}


def access_hints(op: ir.Operation) -> dict[str, ir.Attribute]:
    """All hints of the access ``op``: cache modifier, eviction policy, and those of plugins."""
    return {name: op.attributes[name] for name in _CACHE if name in op.attributes} | plugin_hints(op)


def has_hints(op: ir.Operation) -> bool:
    """True if the access ``op`` has a hint that says more than nothing."""
    given = (ir.IntegerAttr(op.attributes[name]).value for name in _CACHE if name in op.attributes)
    return any(value != 1 for value in given) or bool(plugin_hints(op))
