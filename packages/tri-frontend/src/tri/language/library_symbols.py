"""Symbols of targets' own libraries that stand for functions of the language, as plugins declare them."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tri_core.plugins import PluginManager
    from tri_core.target import TargetKey

__all__ = ["symbols"]


@functools.lru_cache
def _symbols(
    plugins: PluginManager, generation: int, module: str, backend: str, table: str
) -> Mapping[tuple[str, tuple[str, ...]], str]:
    found: dict[tuple[str, tuple[str, ...]], str] = {}
    for extension in plugins.languages():
        if module in extension.module_map and backend in extension.targets:
            found |= getattr(importlib.import_module(extension.module_map[module]), table, {})
    return found


def symbols(module: str, target: TargetKey) -> Mapping[tuple[str, tuple[str, ...]], str]:
    """The symbols of the target's own library that stand for functions of ``module``.

    Keys are a function's name and the names of its operands' types.  A simulated target has few (``SIMULATED_SYMBOLS`` of the
    mapped module): a vendor's library is machine code, which the simulator cannot run, so the formulas of the language stand
    for it there, except for functions whose formula would be an approximation that the library does not use.
    """
    from tri_core.plugins import manager

    current = manager()
    table = "SIMULATED_SYMBOLS" if target.simulated else "SYMBOLS"
    return _symbols(current, current.generation, module, target.backend, table)
