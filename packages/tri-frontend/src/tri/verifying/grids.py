"""Grids as command lines have them: ``cdiv(M, BLOCK), 2``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from tri_core.errors import OptionError

__all__ = ["grid_of"]

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., int]] = {"cdiv": lambda a, b: -(-a // b), "min": min, "max": max}
_REMEDY = "write up to three numbers, or + - * // % cdiv min max of integer parameters: 'cdiv(M, BLOCK), 2'"


def grid_of(text: str, numbers: Mapping[str, Any]) -> tuple[int, ...]:
    """Programs along x, y, z as ``text`` has them, of parameters with the values ``numbers``; OptionError for what is no grid."""
    try:
        parsed = ast.parse(f"({text.strip()},)", mode="eval").body
    except SyntaxError:
        raise OptionError(f"{text!r} is no grid", remedy=_REMEDY) from None
    assert isinstance(parsed, ast.Tuple)
    try:
        made = tuple(_value(each, numbers) for each in parsed.elts)
    except (_Unknown, TypeError, ValueError, ZeroDivisionError) as error:
        raise OptionError(f"{text!r} is no grid: {error}", remedy=_REMEDY) from None
    if not 1 <= len(made) <= 3 or min(made) < 1:
        raise OptionError(f"{text!r} is no grid: it is {made}", remedy=_REMEDY)
    return made


class _Unknown(Exception):
    """A part of a grid that means nothing."""


def _value(node: ast.expr, numbers: Mapping[str, Any]) -> int:
    match node:
        case ast.Constant(value=int(value)) if type(value) is int:
            return value
        case ast.Name(id=name) if type(numbers.get(name)) is int:
            return int(numbers[name])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, numbers)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, numbers), _value(right, numbers))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(each, numbers) for each in args))
    raise _Unknown(f"{ast.unparse(node)!r} is no integer that is known")
