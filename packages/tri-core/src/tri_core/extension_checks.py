"""Checks of what language extensions declare, when they are made: the plugin is set aside with what is said here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tri_core.errors import PluginError

if TYPE_CHECKING:
    from tri_core.hint_records import AccessModifier, Scope

__all__ = ["check_extension"]

_ACCESSES = ("load", "store")


def check_extension(
    namespace: str,
    modifiers: Mapping[str, AccessModifier],
    scopes: Mapping[str, Scope],
    *,
    types: Mapping[str, str],
    builtins: Collection[str],
) -> None:
    """PluginError for names that clash or are none, hints without a dialect's name, and values that no attribute holds."""
    where = f"tl.extra.{namespace}"
    declared = (types, scopes, modifiers, builtins)
    for name, count in Counter(name for names in declared for name in names).items():
        if count > 1 or not name.isidentifier():
            why = "is declared twice" if count > 1 else "is no identifier"
            raise PluginError(f"{where}: {name!r} {why}", remedy="give each declaration a name of its own")
    if (scopes or modifiers) and not namespace.isidentifier():
        raise PluginError(
            f"{where} has modifiers or scopes, but is not named as a dialect",
            remedy="declare them in an extension whose namespace is the name of your dialect",
        )
    for name, place in types.items():
        if not all(place.partition(":")):
            raise PluginError(f"{where}.{name} is at {place!r}", remedy="write module:attribute")
    for name, modifier in modifiers.items():
        _check_values(f"{where}.{name}", modifier.values, least=1)
        if not modifier.accesses or not set(modifier.accesses) <= set(_ACCESSES):
            raise PluginError(f"{where}.{name} is for {modifier.accesses}", remedy=f"use some of {_ACCESSES}")
    for name, scope in scopes.items():
        _check_values(f"{where}.{name}", scope.values, least=0)
        if not scope.ops:
            raise PluginError(f"{where}.{name} marks no operation", remedy='name some, e.g. ("tt.load",)')


def _check_values(where: str, values: Sequence[Any], *, least: int) -> None:
    kinds = {type(value) for value in values}
    if len(values) < least or len(kinds) > 1 or not kinds <= {str, int, bool}:
        raise PluginError(
            f"{where} has the values {tuple(values)}", remedy="declare values of one type: str, bool or int"
        )
    if kinds == {int} and not all(-(2**31) <= value < 2**31 for value in values):
        raise PluginError(f"{where} has values beyond 32 bits", remedy="use smaller ones, or str")
