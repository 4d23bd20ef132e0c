"""Operands that an operator cannot take, explained by the names and the lines that they come from."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from tri.language.constexpr import constexpr
from tri.language.tensor import tensor
from tri_core.errors import CompilationError, SourceLocation
from tri_core.ir.views import defining_op, isa
from tri_core.locations import source_location
from tri_core.mlir import arith, ir

if TYPE_CHECKING:
    from tri.compiler.generator import Generator

__all__ = ["check_operands"]

#: how many operations are looked at for the one that made an offset a float
_MOST = 256


def check_operands(g: Generator, sign: str, x: Any, y: Any, node: ast.AST) -> None:
    """Refuse None, and floats as offsets of pointers, as operands of ``x sign y``, one of them a run-time value."""
    if _is_none(x) or _is_none(y):
        raise _of_none(g, sign, node)
    for pointer, offset in ((x, y), (y, x)):
        if _is(pointer, "is_ptr") and _is(offset, "is_floating") and sign in ("+", "-"):
            raise _float_offset(g, sign, x, y, offset)


def _is(value: Any, question: str) -> bool:
    return isinstance(value, tensor) and bool(getattr(value.dtype, question)())


def _is_none(value: Any) -> bool:
    return value is None or (isinstance(value, constexpr) and value.value is None)


def _of_none(g: Generator, sign: str, node: ast.AST) -> CompilationError:
    message = f"operand None of {sign} is not a number or a tensor"
    names = [
        n.id for n in ast.iter_child_nodes(node) if isinstance(n, ast.Name) and _is_none(g.names.get(n.id, 0))
    ]
    if not names:
        return CompilationError(message, remedy="check what the name is bound to")
    name = names[0]
    if name not in g.function.arg_names:
        return CompilationError(f"{message}: {name} is None", remedy=f"give {name} another value before")
    return CompilationError(
        f"{message}: the parameter {name} is None",
        remedy=f"pass a value for {name}, give it another default, or use it under `if {name} is not None:` only",
    )


def _float_offset(g: Generator, sign: str, x: tensor, y: tensor, offset: tensor) -> CompilationError:
    message = f"invalid operands of type {x.dtype} and {y.dtype} to operator {sign}"
    division = _division_of_integers(offset.handle)
    if division is None:
        return CompilationError(
            message,
            remedy="an offset is an integer: cast it, e.g. with .to(tl.int32), or compute it with integers",
        )
    place = f"line {division.line}" + (f" of {division.file}" if division.file != g.source.file else "")
    return CompilationError(
        f"{message}: the index is {offset.dtype} because of `/` in {place}",
        remedy=f"write `//` for `/` in {place}: {(division.source_line or '').strip()}",
    )


def _division_of_integers(value: ir.Value) -> SourceLocation | None:
    """The place of the nearest ``/`` of integers that ``value`` is computed from, if there is one."""
    seen: list[ir.Value] = [value]
    for each in seen:  # grows as it goes
        op = defining_op(each)
        if op is None:
            continue
        if isa(op, arith.DivFOp) and any(_was_integer(operand) for operand in op.operands):
            return source_location(op.location)
        if len(seen) < _MOST:
            seen.extend(operand for operand in op.operands if operand not in seen)
    return None


def _was_integer(value: ir.Value) -> bool:
    op = defining_op(value)
    return op is not None and isa(op, arith.SIToFPOp, arith.UIToFPOp)
