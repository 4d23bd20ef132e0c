"""Names of the language with an oracle in the conformance kit, and their element types (``dtypes.toml``)."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping

import tri.language as tl
from integration.language import coverage
from integration.language.names import HERE, find
from tri.language.libdevice.table import SIGNATURES

__all__ = ["accepted", "public", "table_names", "tried", "untyped"]

_LIBDEVICE = "tl.extra.libdevice."


@functools.cache
def _table() -> Mapping[str, Mapping[str, object]]:
    return tomllib.loads((HERE / "dtypes.toml").read_text())


def accepted(name: str) -> frozenset[str]:
    """Element types that a name takes, by its full name; none for what the table does not know."""
    if name.startswith(_LIBDEVICE):
        signatures = SIGNATURES.get(name.removeprefix(_LIBDEVICE), ())
        return frozenset(operand.name for operands, _ in signatures for operand in operands)
    taken = _taken()
    return taken.get(name) or taken.get(_function(name), frozenset())


@functools.cache
def _taken() -> Mapping[str, frozenset[str]]:
    table = _table()
    groups = {
        key: frozenset(map(str, list_of))
        for key, list_of in table["groups"].items()
        if isinstance(list_of, list)
    }
    return {
        str(name): frozenset().union(*(groups[group] for group in key.split()))
        for key, names in table["takes"].items()
        if isinstance(names, list)
        for name in names
    }


def table_names() -> list[str]:
    """Every full name that the table gives types or a reason."""
    return [*_taken(), *untyped()]


def _function(name: str) -> str:
    """The function of :mod:`tri.language` that a method, or a name of ``tl.math``, is."""
    section, _, last = name.rpartition(".")
    return f"tl.{last}" if section in ("tl.tensor", "tl.math") and find("tl", last) is not None else name


def tried(name: str) -> frozenset[str]:
    """Element types over which rows of the kit hold a name to an oracle; a method has those of its function."""
    found = coverage.tried()
    return found.get(name, frozenset()) | found.get(_function(name), frozenset())


def untyped() -> Mapping[str, str]:
    """Full name -> why it has no element types, or no oracle."""
    given = {str(name): str(why) for name, why in _table()["untyped"].items()}
    sections = {name.removesuffix("*"): why for name, why in given.items() if name.endswith(".*")}
    of_sections = {n: why for n in public() for section, why in sections.items() if n.startswith(section)}
    return {**of_sections, **{name: why for name, why in given.items() if not name.endswith(".*")}}


def public() -> list[str]:
    """Every name that must have an oracle or a reason: those that kernels use, and all that the module exports."""
    return list(dict.fromkeys([*coverage.wanted(), *(f"tl.{name}" for name in tl.__all__)]))
