"""Name lookup: locals, then enclosing functions, globals, and the few builtins of the language."""

from __future__ import annotations

import ast
import builtins
import difflib
import types as python_types
from typing import Any

from tri.compiler.failures import Follows, Walk, paths_differ
from tri.kernel import Kernel
from tri.language import types as t
from tri.language.aggregate import Aggregate
from tri.language.constexpr import constexpr
from tri_core.errors import CompilationError

__all__ = ["BUILTINS", "lookup", "near"]

#: Python's builtins that mean something in a kernel (see :mod:`tri.compiler.calls` for how they are called)
BUILTINS: dict[str, Any] = {
    name: getattr(builtins, name)
    for name in (
        "abs", "bool", "float", "getattr", "hasattr", "int", "isinstance", "issubclass", "len", "list", "max",
        "min", "print", "range", "repr", "round", "str", "sum", "reversed", "tuple", "type", "zip",
        "enumerate",
        "ValueError", "TypeError", "AssertionError",
    )
}  # fmt: skip


def lookup(g: Walk, node: ast.Name) -> Any:
    """The value that a name is bound to; CompilationError for an unknown or unusable one."""
    name = node.id
    if name in g.names:
        return g.names[name]
    if name in g.lost:  # a local name: what has it outside is something else
        raise _unknown(g, node)
    if name in g.function.closure:
        return _usable(
            g, node, g.function.closure[name], f"{name} is not defined in the kernel: a captured variable"
        )
    if name in g.function.python_function.__globals__:
        value = g.function.python_function.__globals__[name]
        return _usable(g, node, value, f"Cannot access global variable {name},")
    if name in BUILTINS:
        return BUILTINS[name]
    raise _unknown(g, node)


def _usable(g: Walk, node: ast.Name, value: Any, refusal: str) -> Any:
    if is_usable_global(value):
        return value
    raise CompilationError(
        f"{refusal} of type {type(value).__name__}: kernels read globals only when they are constexpr",
        remedy=f"write {node.id} = tl.constexpr(...) at module level, or pass it as an argument",
        location=g.source.locate(node),
    )


def is_usable_global(value: Any) -> bool:
    """True if a kernel may use ``value`` from outside: constexprs, functions, types and modules."""
    if isinstance(value, tuple):
        return all(map(is_usable_global, value))
    if isinstance(value, (constexpr, Kernel, t.dtype, python_types.ModuleType, Aggregate)):
        return True
    return callable(value)  # classes, and functions, of which a call says whether it may be


def _unknown(g: Walk, node: ast.Name) -> CompilationError:
    name = node.id
    location = g.source.locate(node)
    if name in g.errors.names:
        return Follows()
    if name in g.lost:
        return paths_differ(
            f"{name!r} has no value here: {g.lost[name]}",
            remedy=f"give {name} a value on every path that leads here",
            location=location,
        )
    if hasattr(builtins, name):
        return CompilationError(
            f"Python's {name} has no meaning in a kernel",
            remedy="use operators and functions of tri.language, or compute on the host and pass the result",
            location=location,
        )
    known = [*g.names, *g.function.python_function.__globals__, *g.function.closure]
    return CompilationError(f"{name!r} is not defined", remedy=near(name, known), location=location)


def near(name: str, known: list[str]) -> str | None:
    """``did you mean ...?`` with the known names that look like ``name``."""
    found = difflib.get_close_matches(name, known)
    return f"did you mean {' or '.join(found)}?" if found else None
