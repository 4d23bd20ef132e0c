"""Values bound to names: one by one, and item by item from tuples."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tri.compiler.values import describe
from tri.language.constexpr import constexpr, unwrap
from tri.language.python_values import wrap
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.generator import Generator

__all__ = ["bind", "unpack"]


def unpack(value: Any) -> tuple[Any, ...]:
    """The items of a tuple, or of a constexpr that holds one."""
    inner = wrap(unwrap(value)) if isinstance(value, constexpr) else value
    if isinstance(inner, tuple):
        return inner
    raise CompilationError(
        f"cannot unpack non-iterable value: {describe(value)}", remedy="unpack tuples only"
    )


def _as_it_is(name: str, value: Any) -> Any:
    return value


def bind(g: Generator, target: ast.expr, value: Any, made: Callable[[str, Any], Any] = _as_it_is) -> None:
    """Bind ``value`` to a name or, item by item, to a tuple of targets; ``made`` says what a name gets of its value."""
    if isinstance(target, ast.Name):
        g.names[target.id] = made(target.id, value)
        g.lost.pop(target.id, None)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element, item in zip(target.elts, _matched(target, unpack(value)), strict=True):
            bind(g, element.value if isinstance(element, ast.Starred) else element, item, made)
    elif isinstance(target, ast.Attribute):
        raise CompilationError(
            "a kernel cannot assign to an attribute: its values are immutable",
            remedy="make a changed copy with tl.aggregate_replace(x, field=value), or x._replace for a named tuple",
        )
    else:
        raise CompilationError(
            "a kernel assigns to names only, not to items",
            remedy="use tl.store for memory, tl.where to change elements, and build a new tuple",
        )


def _matched(target: ast.Tuple | ast.List, items: tuple[Any, ...]) -> tuple[Any, ...]:
    """One item per target; what is left over for a starred one, as a tuple."""
    count = len(target.elts)
    stars = [i for i, element in enumerate(target.elts) if isinstance(element, ast.Starred)]
    if not stars:
        if len(items) != count:
            is_short = len(items) < count
            raise CompilationError(
                f"{'not enough' if is_short else 'too many'} values to unpack (expected {count}, got {len(items)})",
                remedy="give as many names as there are values, or star one that takes the others",
            )
        return items
    if len(items) < count - 1:
        raise CompilationError(
            f"{count - 1} names and a starred one are assigned {len(items)} values",
            remedy="give at most as many names as there are values",
        )
    first, after = stars[0], count - 1 - stars[0]
    end = len(items) - after
    return (*items[:first], tuple(items[first:end]), *items[end:])
