"""The text of a kernel and of all that it reaches, as JSON of which either compiler's functions can be made again.

A reference is a dictionary with one entry: ``literal``, ``constexpr``, ``tuple``, ``module``, ``member`` of a module of the language,
``function`` (a number), or ``namespace``: the attributes that are read of a module or class of the package's own.
"""

from __future__ import annotations

import ast
import builtins
import enum
import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Container, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import tri
import tri.language as tl
from tri.language.builtin import is_constexpr_function

__all__ = ["NotPortable", "texts_of"]

Add = Callable[[Any], int]
#: names of modules of the language, as Triton has them; of a vendor's functions those that follow the target
_LIBDEVICE = ("tri.language.extra.cuda.libdevice", "tri.language.extra.hip.libdevice")

#: where a name of the language is looked for
_PUBLIC = ("tri.language", "tri.language.math", "tri.language.extra.libdevice", "tri")


class NotPortable(Exception):
    """Something that text alone does not give."""


def texts_of(
    function: Any, constants: Mapping[str, Any] | None = None
) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """``function`` and all that it calls, itself first, and references of ``constants``, whose functions follow."""
    made: list[dict[str, Any]] = []
    numbers: dict[int, int] = {}

    def add(one: Any) -> int:
        if id(one) not in numbers:
            numbers[id(one)] = len(made)
            made.append({})
            made[numbers[id(one)]].update(_text(one, add))
        return numbers[id(one)]

    add(function)
    return made, {name: reference(value, add) for name, value in (constants or {}).items()}


def _text(one: Any, add: Add) -> dict[str, Any]:
    if isinstance(one, tri.JITFunction):
        source, function, kind = one.src, one.fn, "jit"
    else:
        kind = "constexpr_function" if is_constexpr_function(one) else "plain"
        source, function = _without_decorators(one), one
    made = {"name": function.__name__, "src": source, "kind": kind}
    if kind == "jit" and one.noinline:
        made["noinline"] = True
    return made | {"globals": dict(_outside(source, function, add))}


def _without_decorators(function: Any) -> str:
    lines, _ = inspect.getsourcelines(function)
    first = next(n for n, line in enumerate(lines) if line.lstrip().startswith("def "))
    return textwrap.dedent("".join(lines[first:]))


def _outside(source: str, function: Any, add: Add) -> Iterator[tuple[str, dict[str, Any]]]:
    """Values of the names that the function does not define; a name without a value there has none in the record."""
    tree = ast.parse(source)
    hints = _annotations(tree)
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    stored |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    seen = dict(inspect.getclosurevars(function).nonlocals)
    spaces: tuple[Mapping[str, Any], ...] = (seen, function.__globals__)
    for name in sorted(read - stored):
        space = next((s for s in spaces if name in s), None)
        if space is not None:
            yield name, _named(space[name], name, tree, add, hints)


def _annotations(tree: ast.AST) -> frozenset[str]:
    """Names in the annotations of parameters."""
    return frozenset(
        ast.unparse(n.annotation) for n in ast.walk(tree) if isinstance(n, ast.arg) and n.annotation
    )


def _named(value: Any, path: str, tree: ast.AST, add: Add, hints: Container[str] = ()) -> dict[str, Any]:
    """``value``, which ``tree`` calls ``path``; of modules, classes and objects of a package what is read of them.

    A class that is no more than one of the annotations ``hints`` is any class.
    """
    known = _module(value) if isinstance(value, ModuleType) else ""
    if known:
        return {"module": known}
    if not isinstance(value, (ModuleType, type)) or getattr(tl, value.__name__, None) is value:
        try:
            return reference(value, add)
        except NotPortable:
            if _read_of(path, tree):
                return {"namespace": dict(_attributes(value, path, tree, add, hints))}
            raise
    if isinstance(value, type) and getattr(builtins, value.__name__, None) is value:
        raise NotPortable(f"{path}, a class of Python's by another name")
    if isinstance(value, type) and path in hints and not _read_of(path, tree):
        return {"literal": "object"}
    return {"namespace": dict(_attributes(value, path, tree, add, hints))}


def _read_of(path: str, tree: ast.AST) -> set[str]:
    """The attributes of ``path`` that ``tree`` reads."""
    return {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and ast.unparse(n.value) == path}


def _attributes(
    value: Any, path: str, tree: ast.AST, add: Add, hints: Container[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    read = _read_of(path, tree)
    if not read:
        raise NotPortable(f"{type(value).__name__} {path} as a value")
    for name in sorted(read):
        yield name, _named(getattr(value, name), f"{path}.{name}", tree, add, hints)


def reference(value: Any, add: Add) -> dict[str, Any]:
    """``value`` in JSON; ``add`` numbers a function."""
    if isinstance(value, tri.JITFunction) or is_constexpr_function(value):
        return _member(value) or {"function": add(value)}
    if isinstance(value, tl.constexpr):
        return {"constexpr": reference(value.value, add)}
    if isinstance(value, tl.dtype):
        return {"member": ["triton.language", value.codegen_name()]}
    if isinstance(value, enum.Enum):
        return reference(value.value, add)
    if value is None or type(value) in (bool, int, float, str):
        return {"literal": repr(value)}
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return {"tuple": [reference(v, add) for v in value]}
    found = _member(value)
    if found is None and isinstance(value, FunctionType) and not value.__module__.startswith("tri."):
        return {"function": add(value)}
    if found is None:
        raise NotPortable(f"{type(value).__name__} {value!r:.60}")
    return found


def _member(value: Any) -> dict[str, Any] | None:
    """``value`` as a public name of the language; None where it has none."""
    name = str(getattr(value, "__name__", ""))
    home = str(getattr(value, "__module__", ""))
    for module in (*_PUBLIC, home):
        place = importlib.import_module(module) if module in _PUBLIC else sys.modules.get(module)
        known = _module(place) if isinstance(place, ModuleType) else ""
        if known and getattr(place, name, None) is value:
            return {"member": [known, name]}
    return None


def _module(value: ModuleType) -> str:
    """Triton's name of a module of the language, or that of a module of Python's own; empty for others."""
    name = value.__name__
    if name.startswith("triton."):  # the stand-in's
        name = "tri" + name.removeprefix("triton")
    if name in _LIBDEVICE or name.endswith(".extra.libdevice"):
        return "triton.language.extra.libdevice"
    if name == "tri" or name == "tri.language" or name.startswith("tri.language."):
        return "triton" + name.removeprefix("tri")
    return name if name in sys.stdlib_module_names else ""
