"""The arguments that a call is written with, and what a class or function takes."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Any

from tri.compiler.binding import unpack
from tri.language.aggregate import is_aggregate_class
from tri.language.constexpr import unwrap
from tri.language.python_values import wrap

if TYPE_CHECKING:
    from tri.compiler.generator import Generator

__all__ = ["arguments", "is_tuple_class", "parameters_of"]


def arguments(g: Generator, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    """The positional and keyword arguments of a call, as values of the language."""
    args: list[Any] = []
    for item in node.args:
        if isinstance(item, ast.Starred):
            args.extend(unpack(g.visit(item.value)))
        else:
            args.append(g.visit(item))
    kwargs: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            kwargs.update({k: wrap(v) for k, v in unwrap(g.visit(keyword.value)).items()})
        else:
            kwargs[keyword.arg] = g.visit(keyword.value)
    return args, kwargs


def parameters_of(function: Any) -> str | None:
    """The remedy for arguments that do not fit: what a class or a function takes."""
    if is_aggregate_class(function):
        fields = [f"{n}: {getattr(t, '__name__', t)}" for n, t in function.__tri_fields__.items()]
        return f"its fields are {', '.join(fields)}"
    if is_tuple_class(function) and hasattr(function, "_fields"):
        return f"its fields are {', '.join(function._fields)}"
    try:
        shown = [
            str(p.replace(annotation=inspect.Parameter.empty))
            for p in inspect.signature(function).parameters.values()
            if p.name != "_semantic"
        ]
    except (TypeError, ValueError):
        return None
    return f"its parameters are ({', '.join(shown)})"


def is_tuple_class(function: Any) -> bool:
    """True if ``function`` is a class of tuples, whose items may be run-time values."""
    return isinstance(function, type) and issubclass(function, tuple)
