"""What a jit function depends on: its own source, the jit functions it calls, the globals it reads."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

from tri.compiler.scope import is_usable_global
from tri.compiler.values_key import captured, source_text, stable
from tri.jit import JITFunction
from tri.language.aggregate import Aggregate, is_aggregate_class
from tri.language.builtin import is_constexpr_function
from tri.language.constexpr import constexpr

__all__ = ["fingerprint", "used_values", "watched"]

#: the language itself is covered by the version and content of this package, which every cache key holds
_LIBRARY = "tri.language"
#: values that are part of the code that names them
_FACTS = (constexpr, Aggregate, tuple, int, float, str)
_NO_CODE = (lambda: None).__code__


def fingerprint(function: JITFunction) -> str:
    """A hash that changes when ``function``, or anything outside of it that its code depends on, does."""
    parts: list[str] = []
    seen: set[int] = set()
    pending: list[Any] = [function]
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        parts.append(_own_text(current))
        for name, value in _used_by(current):
            if _is_code(value):
                if not str(value.__module__).startswith(_LIBRARY):
                    pending.append(value)
            else:
                parts.append(f"{name}={stable(value)}")
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()


def watched(function: JITFunction) -> tuple[tuple[Mapping[str, Any], str, Any], ...]:
    """The globals that ``function`` and what it calls read, as (names, name, value): a change makes another kernel."""
    found: dict[tuple[int, str], tuple[Mapping[str, Any], str, Any]] = {}
    seen: set[int] = set()
    pending: list[Any] = [function]
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        for path, value in _used_by(current):
            space, name = _home(current, path)
            if str(space.get("__name__", "")).startswith(_LIBRARY):
                continue
            if space.get(name) is value:
                found[id(space), name] = (space, name, value)
            if _is_code(value) and not str(value.__module__).startswith(_LIBRARY):
                pending.append(value)
    return tuple(found.values())


def _home(user: Any, path: str) -> tuple[Mapping[str, Any], str]:
    """The names among which ``user`` finds what it calls ``path``, and its name there."""
    owner, _, name = path.rpartition(".")
    spaces = _spaces(user)
    return (vars(_resolve(owner, spaces)) if owner else spaces[-1]), name


def _spaces(user: Any) -> tuple[Mapping[str, Any], ...]:
    """Where ``user`` finds names, its globals last."""
    if isinstance(user, JITFunction):
        return (user.closure, user.fn.__globals__)
    return (getattr(user, "__globals__", {}),)


def _is_code(value: Any) -> bool:
    """Whether ``value`` has code of its own, which is followed."""
    return isinstance(value, JITFunction) or is_constexpr_function(value) or is_aggregate_class(value)


def _own_text(value: Any) -> str:
    name = f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, JITFunction):
        return f"{name} {value.noinline} {value.debug}\n{value.src}"
    if is_aggregate_class(value):
        return f"{name} {[(n, getattr(t, '__qualname__', str(t))) for n, t in value.__tri_fields__.items()]}"
    return f"{value.__qualname__}\n{source_text(value)}\n{captured(value)}"


def _used_by(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, JITFunction):
        yield from used_values(value)
    elif is_aggregate_class(value):
        yield from ((n, v) for n, v in value.__tri_defaults__.items())
        for field in value.__tri_fields__.values():
            if is_aggregate_class(field):
                yield field.__name__, field
        for member in value.__tri_functions__:
            inner = getattr(member, "__func__", member)
            yield (
                getattr(inner, "__name__", "?"),
                inner if _is_code(inner) else constexpr(inner),
            )
    else:
        yield from _names_of(value)


def _names_of(function: Any) -> Iterator[tuple[str, Any]]:
    """What a constexpr function reads by name; of plain functions their text, which is not followed further."""
    names = getattr(function, "__globals__", {})
    for name in getattr(function, "__code__", _NO_CODE).co_names:
        value = names.get(name)
        if _is_code(value) or isinstance(value, _FACTS):
            yield name, value
        elif isinstance(value, FunctionType):
            yield name, constexpr(value)


def used_values(function: JITFunction) -> Iterator[tuple[str, Any]]:
    """What ``function`` names of the outside and depends on: functions, aggregates, constexprs, numbers."""
    spaces = _spaces(function)
    seen = set()
    for node in ast.walk(function.source.tree):
        if not isinstance(node, (ast.Name, ast.Attribute)):
            continue
        path = _path(node)
        if path is None or path in seen:
            continue
        seen.add(path)
        value = _resolve(path, spaces)
        if _is_code(value) or (isinstance(value, _FACTS) and ("." in path or is_usable_global(value))):
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
