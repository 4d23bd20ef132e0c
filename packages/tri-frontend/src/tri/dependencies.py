"""What a jit function depends on: its own source, the jit functions it calls, the globals it reads."""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from tri.jit import JITFunction
from tri.language.builtin import is_constexpr_function
from tri.language.constexpr import constexpr

__all__ = ["fingerprint", "used_values"]

#: the language itself is covered by the version and content of this package, which every cache key holds
_LIBRARY = "tri.language"


def fingerprint(function: JITFunction) -> str:
    """A hash that changes when ``function``, or anything outside of it that its code depends on, does."""
    parts: list[str] = []
    seen: set[JITFunction] = set()
    pending = [function]
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        parts.append(
            f"{current.__module__}.{current.__qualname__} {current.noinline} {current.debug}\n{current.src}"
        )
        for name, value in used_values(current):
            if isinstance(value, JITFunction):
                if not value.__module__.startswith(_LIBRARY):
                    pending.append(value)
            else:
                parts.append(f"{name}={_text(value)}")
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()


def _text(value: Any) -> str:
    if is_constexpr_function(value):
        try:
            return inspect.getsource(value)
        except OSError:
            return f"{value.__module__}.{value.__qualname__}"
    return repr(value)


def used_values(function: JITFunction) -> Iterator[tuple[str, Any]]:
    """The jit functions, constexprs and constexpr functions that ``function`` names, with their names."""
    spaces = (function.closure, function.fn.__globals__)
    seen = set()
    for node in ast.walk(function.source.tree):
        if not isinstance(node, (ast.Name, ast.Attribute)):
            continue
        path = _path(node)
        if path is None or path in seen:
            continue
        seen.add(path)
        value = _resolve(path, spaces)
        if isinstance(value, (JITFunction, constexpr, tuple, int, float, str)) or is_constexpr_function(
            value
        ):
            yield path, value


def _path(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _path(node.value)
        return f"{owner}.{node.attr}" if owner is not None else None
    return None


def _resolve(path: str, spaces: tuple[Any, ...]) -> Any:
    """The value of ``a.b.c``, looked up through modules only."""
    first, *rest = path.split(".")
    value = next((space[first] for space in spaces if first in space), None)
    for name in rest:
        if not isinstance(value, ModuleType):
            return None
        value = getattr(value, name, None)
    return value
