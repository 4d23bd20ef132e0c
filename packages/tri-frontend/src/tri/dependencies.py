"""Dependencies of a jit function: its own source, the functions that it calls, the values that it reads.

A kernel reads names of enclosing functions and of its module, and attributes of modules, classes and compile-time
objects.  All of them are part of its key (:func:`fingerprint`), and a launch looks whether they are what they were
(:func:`watched`).
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

from tri.captures import Cell, CellNames, read_paths
from tri.compiler.scope import is_usable_global
from tri.compiler.values_key import captured, source_text, stable
from tri.contents import Contents, is_fixed
from tri.kernel import Kernel
from tri.language.aggregate import is_aggregate_class
from tri.language.builtin import is_constexpr_function
from tri.language.constexpr import constexpr, unwrap
from tri.language.structure import Structure
from tri.language.types import dtype
from tri.main_module import portable_name
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Watch", "fingerprint", "forget_keys", "functions_in", "used_globals", "used_values", "watched"]

#: this package is covered by its version and content, which every cache key holds
_LIBRARY = "tri"
#: packages whose names mean the same another day
_FIXED = (sys.stdlib_module_names - {"__main__"}) | {_LIBRARY}
#: (names, name, value): a name that must mean what it meant
Watch = tuple[Mapping[str, Any] | Cell | Contents, str, Any]


@dataclass(frozen=True)
class _Use:
    """A value that a function reads by ``path``, and where each name of the path is found."""

    path: str
    value: Any
    links: tuple[tuple[Mapping[str, Any], str, Any], ...]


def fingerprint(function: Kernel) -> str:
    """A hash that changes when ``function``, or anything outside of it that its code depends on, does."""
    return _fingerprint(_reach([function]))


def _fingerprint(reached: Iterable[tuple[Any, list[_Use]]]) -> str:
    parts: list[str] = []
    for user, uses in reached:
        parts.append(_own_text(user))
        parts.extend(f"{use.path}={_text(use.value)}" for use in uses if not _is_code(use.value))
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()


def watched(function: Kernel, passed: Iterable[Kernel] = ()) -> tuple[Watch, ...]:
    """Names that ``function``, functions ``passed`` to it and their callees read: a name with another value
    makes another kernel.

    What is found is the function's key, too, where it has none yet: it is read once for both.
    """
    reached = list(_reach([function]))
    if "cache_key" not in vars(function):
        vars(function)["cache_key"] = _fingerprint(reached)
    passed = list(passed)
    found: dict[tuple[int, str], Watch] = {}
    for _, uses in _reach([function, *passed]) if passed else reached:
        for use in uses:
            for space, name, value in use.links:
                if space.get(name) is value:
                    watch = _watch(space, name, value)
                    found[id(watch[0]), name] = watch
            if not is_fixed(use.value) and (id(use.value), "") not in found:
                contents = Contents(use.value)
                found[id(use.value), ""] = (contents, "", contents.text)
    return tuple(found.values())


def _watch(space: Mapping[str, Any], name: str, value: Any) -> Watch:
    return (space.cells[name], name, value) if isinstance(space, CellNames) else (space, name, value)


def forget_keys(functions: Iterable[Kernel]) -> None:
    """Have the keys of ``functions`` and of what they call made anew."""
    for user, _ in _reach(functions):
        if isinstance(user, Kernel):
            user.__dict__.pop("cache_key", None)


def functions_in(values: Iterable[Any]) -> list[Kernel]:
    """The jit functions among ``values``, and in tuples there."""
    return [code for value in values for code in _codes(value) if isinstance(code, Kernel)]


def reached(function: Kernel) -> Iterator[Kernel]:
    """``function`` and the jit functions that it may call, those of the language's own library left out."""
    return (found for found, _ in _reach([function]) if isinstance(found, Kernel))


def used_values(function: Kernel) -> Iterator[tuple[str, Any]]:
    """Outside names that ``function`` depends on, by path: functions, aggregates, compile-time values."""
    for use in _uses(function):
        if not isinstance(use.value, ModuleType):
            yield use.path, use.value


def used_globals(function: Kernel) -> dict[tuple[str, int], tuple[Any, Mapping[str, Any]]]:
    """The values that ``function`` and what it calls read of modules, by name and the identity of the module's names."""
    found: dict[tuple[str, int], tuple[Any, Mapping[str, Any]]] = {}
    for user, uses in _reach([function]):
        names = getattr(getattr(user, "fn", user), "__globals__", None)
        for use in uses:
            if names is None or not use.links or use.links[0][0] is not names:
                continue
            _, name, value = use.links[0]
            if not isinstance(value, ModuleType) and not _is_code(value):
                found[name, id(names)] = value, names
    return dict(sorted(found.items()))


# --- which functions --------------------------------------------------------------------------------------


def _reach(roots: Iterable[Any]) -> Iterator[tuple[Any, list[_Use]]]:
    """Every function that ``roots`` consist of, once, with what it reads."""
    seen: set[int] = set()
    pending: list[Any] = list(roots)
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        uses = list(_uses(current))
        yield current, uses
        pending.extend(code for use in uses for code in _codes(use.value) if _is_followed(code, current))


def _is_code(value: Any) -> bool:
    """True if ``value`` has code of its own, which is followed."""
    return isinstance(value, Kernel) or is_constexpr_function(value) or is_aggregate_class(value)


def _codes(value: Any) -> Iterator[Any]:
    """The functions that ``value`` is or holds."""
    value = unwrap(value)
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _codes(item)
    elif _is_code(value) or isinstance(value, FunctionType):
        yield value


def _is_followed(code: Any, user: Any) -> bool:
    """Of plain functions, those of the user's own package are; of others the text has to do."""
    root = _root(code.__module__)
    return root != _LIBRARY and (_is_code(code) or root == _root(user.__module__))


def _root(module: object) -> str:
    """The package of a module by name."""
    return str(module).partition(".")[0]


def _text(value: Any) -> str:
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, FunctionType) and _root(value.__module__) == _LIBRARY:
        return f"{value.__module__}.{value.__qualname__}"
    return stable(value)


def _own_text(value: Any) -> str:
    name = f"{portable_name(value.__module__)}.{value.__qualname__}"
    if isinstance(value, Kernel):
        return f"{value.level}{name} {value.noinline} {value.debug} {captured(value.python_function, cells=False)}\n{value.src}"
    if is_aggregate_class(value):
        return f"{name} {[(n, getattr(t, '__qualname__', str(t))) for n, t in value.__tri_fields__.items()]}"
    return f"{value.__qualname__}\n{source_text(value)}\n{captured(value)}"


# --- what they read ---------------------------------------------------------------------------------------


def _uses(user: Any) -> Iterator[_Use]:
    if isinstance(user, Kernel):
        yield from _uses_of_kernel(user)
    elif is_aggregate_class(user):
        yield from _uses_of_class(user)
    else:
        yield from _uses_of_python(user)


def _uses_of_kernel(function: Kernel) -> Iterator[_Use]:
    code = function.python_function.__code__
    own = {*code.co_varnames, *code.co_cellvars}
    paths = [path for path in function.source.paths() if path.partition(".")[0] not in own]
    for use in _found(paths, (function.closure, function.python_function.__globals__)):
        if "." in use.path or is_usable_global(use.value):
            yield use


def _uses_of_class(cls: Any) -> Iterator[_Use]:
    for name, value in cls.__tri_defaults__.items():
        yield _Use(name, value, ())
    for field in cls.__tri_fields__.values():
        if is_aggregate_class(field):
            yield _Use(field.__name__, field, ())
    for member in cls.__tri_functions__:
        inner = getattr(member, "__func__", member)
        yield _Use(getattr(inner, "__name__", "?"), inner if _is_code(inner) else constexpr(inner), ())


def _uses_of_python(function: Any) -> Iterator[_Use]:
    """Names that a function which runs while compiling reads."""
    code = getattr(function, "__code__", None)
    if code is not None:
        yield from _found(read_paths(code), (CellNames.of(function), function.__globals__))


def _found(paths: Iterable[str], spaces: tuple[Mapping[str, Any], ...]) -> Iterator[_Use]:
    for path in paths:
        use = _resolve(path, spaces)
        if use is not None:
            yield use


def _resolve(path: str, spaces: tuple[Mapping[str, Any], ...]) -> _Use | None:
    """The value of ``a.b.c`` in ``spaces``; None where a name is not found, and for what a library has."""
    first, *rest = path.split(".")
    space = next((space for space in spaces if first in space), None)
    if space is None:
        return None
    value = space[first]
    links = [(space, first, value)]
    for name in rest:
        owner = unwrap(value)
        if not _has_users_attributes(owner):
            return None
        try:
            value = getattr(owner, name)
        except Exception:  # the compile says what is wrong with it
            return None
        links.extend((names, name, value) for names in _homes(owner) if name in names)
    if rest and _root(getattr(value, "__module__", "")) == _LIBRARY and not isinstance(value, type):
        return None
    return _Use(path, value, tuple(links))


def _has_users_attributes(owner: Any) -> bool:
    """True if attributes of ``owner`` may change later: not those of values, nor of libraries."""
    if isinstance(owner, ModuleType):
        return _root(owner.__name__) not in _FIXED
    return not isinstance(owner, (Kernel, FunctionType, dtype, Structure, tuple, int, float, str))


def _homes(owner: Any) -> Iterator[Mapping[str, Any]]:
    """Namespaces that may hold attributes of ``owner``."""
    if hasattr(owner, "__dict__"):
        yield vars(owner)
    for cls in (owner if isinstance(owner, type) else type(owner)).__mro__:
        yield vars(cls)
