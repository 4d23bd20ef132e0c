"""Iterables of loops and comprehensions: ranges known at run time only, or values one by one."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tri.compiler.call_arguments import arguments, parameters_of
from tri.compiler.values import describe
from tri.language import loops
from tri.language.constexpr import constexpr, unwrap
from tri.language.python_values import wrap
from tri.language.shapes import CONSTEXPR_REMEDY
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.generator import Generator

__all__ = ["static_items", "unrolled"]

_RANGES = {range: loops.range, loops.range: loops.range, loops.static_range: loops.static_range}


def unrolled(g: Generator, node: ast.For) -> loops.range | Sequence[Any]:
    """Iterable of a ``for``: the values of an unrolled loop, or a range known at run time only."""
    if node.orelse:
        raise CompilationError("a loop in a kernel has no else", remedy="put it after the loop")
    iterable = _iterable(g, node.iter)
    return iterable if isinstance(iterable, loops.range) else _static_values(iterable)


def _iterable(g: Generator, node: ast.expr) -> Any:
    """Iterable of the loop: a range of the language, or a tuple."""
    if isinstance(node, ast.Call):
        function = g.visit(node.func)
        if isinstance(function, type) and function in _RANGES:
            args, kwargs = arguments(g, node)
            try:
                return _RANGES[function](*args, **{k: unwrap(v) for k, v in kwargs.items()})
            except TypeError as error:
                raise CompilationError(
                    f"{function.__name__}: {error}", remedy=parameters_of(function)
                ) from error
    value = g.visit(node)
    if isinstance(value, (tuple, loops.range, loops.static_range)):
        return value
    if isinstance(value, constexpr) and isinstance(value.value, (tuple, list)):
        return wrap(value.value)
    raise CompilationError(
        f"a kernel cannot loop over {describe(value)}",
        remedy="use range, tl.range, tl.static_range or a tuple",
    )


def static_items(g: Generator, node: ast.expr) -> Sequence[Any]:
    """Items of the iterable ``node``: a tuple, or a range whose bounds are known."""
    return _static_values(_iterable(g, node))


def _static_values(iterable: Any) -> Sequence[Any]:
    if isinstance(iterable, tuple):
        return iterable
    bounds = [unwrap(v) for v in (iterable.start, iterable.end, iterable.step)]
    for bound in bounds:
        if not isinstance(bound, int):
            raise CompilationError(
                f"static_range needs constexpr ints, got {describe(wrap(bound))}",
                remedy=f"use range for bounds known at run time only, or {CONSTEXPR_REMEDY}",
            )
    if bounds[2] == 0:
        raise CompilationError("static_range has step 0", remedy="use a positive or a negative step")
    return [constexpr(i) for i in range(*bounds)]
