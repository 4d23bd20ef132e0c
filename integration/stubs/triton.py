"""Stubs of the modules that stand in for Triton's, made from the table by which they are found."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from tri.compat.triton.finder import StandIn, load
from tri.compat.triton.table import MODULES, Module

__all__ = ["TYPINGS", "stubs"]

#: where they stand, below the sources: a folder for a type checker's search path
TYPINGS = "tri/compat/triton/typings"
_NOTE = "# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.\n"
#: whose names are all known
_WHOLE = frozenset({"triton", "triton.language"})


def stubs() -> Iterator[tuple[str, str]]:
    """Each stub's path below the sources, and its text."""
    for name, row in MODULES.items():
        parts = name.split(".")
        yield f"{TYPINGS}/{'/'.join(parts)}/__init__.pyi", _NOTE + "\n".join(_lines(name, row))


def _lines(name: str, row: Module) -> Iterator[str]:
    yield "from typing import Any as _Any"
    found: dict[str, str] = {}
    for source in reversed(row.sources):  # what comes first is found first
        if ":" not in source:
            found |= {n: f"from {source} import {n} as {n}" for n in _public(importlib.import_module(source))}
    found |= {shown: _name(shown, place) for shown, place in row.names.items()}
    children = [n.rpartition(".")[2] for n in MODULES if n.rpartition(".")[0] == name]
    found |= {child: f"from {name} import {child} as {child}" for child in children}
    found |= {shown: _module(shown, module) for shown, module in row.modules.items()}
    found |= {shown: f"{shown}: {type(value).__name__}" for shown, value in row.values.items()}
    for shown in row.refused:
        found.pop(shown, None)
    yield from found.values()
    if name not in _WHOLE:
        yield "def __getattr__(name: str) -> _Any: ..."
    yield ""


def _public(module: ModuleType) -> list[str]:
    return list(getattr(module, "__all__", ()))


def _module(shown: str, module: str) -> str:
    package, _, child = module.rpartition(".")
    return f"from {package} import {child} as {shown}" if package else f"import {child} as {shown}"


def _name(shown: str, place: str) -> str:
    module, _, attribute = place.partition(":")
    value: Any = load(place)
    if "." in attribute or isinstance(value, (ModuleType, StandIn)) or not attribute:
        return f"{shown}: _Any"
    if not hasattr(importlib.import_module(module), attribute):
        return f"{shown}: _Any"
    return f"from {module} import {attribute} as {shown}"
