"""A jit function with all that it uses, as JSON that a process with the original can make functions of."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import tri
import tri.language as tl

__all__ = ["NotPortable", "portable", "reference"]

#: our modules by the original's names
_MODULES = {"tri": "triton", "tri.language": "triton.language"}


class NotPortable(Exception):
    """Something that has no counterpart in the original, or that is not worth one here."""


def portable(function: tri.JITFunction) -> dict[str, Any]:
    """``function`` and all jit functions that it names: ``{"functions": [...]}``, itself the first."""
    made: list[dict[str, Any]] = []
    numbers: dict[tri.JITFunction, int] = {}

    def add(one: tri.JITFunction) -> int:
        if one not in numbers:
            numbers[one] = len(made)
            made.append({"name": one.__name__, "src": one.src, "noinline": one.noinline})
            made[numbers[one]]["globals"] = {n: reference(v, add) for n, v in _outside(one).items()}
        return numbers[one]

    add(function)
    return {"functions": made}


def _outside(function: tri.JITFunction) -> Mapping[str, Any]:
    """Values of the names that the function uses and does not define."""
    tree = ast.parse(function.src)
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    spaces = (function.closure, function.fn.__globals__)
    found = {n: next((s[n] for s in spaces if n in s), None) for n in sorted(names)}
    return {n: v for n, v in found.items() if any(n in s for s in spaces)}


def reference(value: Any, add: Any) -> dict[str, Any]:
    """``value`` in JSON; ``add`` numbers a jit function."""
    if isinstance(value, tri.JITFunction):
        library: Any = getattr(tl, str(value.__name__), None)
        return {"attribute": value.__name__} if library is value else {"function": add(value)}
    if isinstance(value, ModuleType):
        return {"module": _module(value)}
    if isinstance(value, tl.constexpr):
        return {"constexpr": reference(value.value, add)}
    if isinstance(value, tl.dtype):
        return {"attribute": value.codegen_name()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"literal": repr(value)}
    if isinstance(value, tuple) and type(value) is tuple:
        return {"tuple": [reference(v, add) for v in value]}
    name = getattr(value, "__name__", "")
    if getattr(tl, name, None) is value:
        return {"attribute": name}
    return _refuse(value)


def _module(value: ModuleType) -> str:
    name = value.__name__
    if name in _MODULES:
        return _MODULES[name]
    if name.startswith("tri.language."):
        return "triton.language" + name.removeprefix("tri.language")
    return name if "." not in name and not name.startswith("tri") else _refuse(name)


def _refuse(value: Any) -> Any:
    raise NotPortable(f"{type(value).__name__} {value!r:.60}")
