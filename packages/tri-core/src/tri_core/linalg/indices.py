"""Arithmetic of type ``index``, where what is known while lowering stays a Python integer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tri_core.mlir import arith, ir

__all__ = [
    "Index",
    "add",
    "as_index",
    "as_value",
    "at_least",
    "at_most",
    "choose",
    "clamp",
    "constant",
    "mixed",
    "multiply",
    "subtract",
]

#: a number, or a value of type ``index``
Index: TypeAlias = "int | ir.Value"


def constant(number: int) -> ir.Value:
    """``number`` as a value."""
    type_ = ir.IndexType.get()
    return arith.ConstantOp(type_, ir.IntegerAttr.get(type_, number)).result


def as_value(index: Index) -> ir.Value:
    """``index`` as a value."""
    return constant(index) if isinstance(index, int) else index


def as_index(value: ir.Value) -> ir.Value:
    """An integer, signed, or a tensor of them, as ``index``."""
    type_: ir.Type = ir.IndexType.get()
    if isinstance(value.type, ir.RankedTensorType):
        type_ = ir.RankedTensorType.get(value.type.shape, type_)
    return value if value.type == type_ else arith.IndexCastOp(type_, value).result


def add(left: Index, right: Index) -> Index:
    """The sum."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if left == 0:
        return right
    return left if right == 0 else arith.AddIOp(as_value(left), as_value(right)).result


def subtract(left: Index, right: Index) -> Index:
    """The difference."""
    if isinstance(left, int) and isinstance(right, int):
        return left - right
    return left if right == 0 else arith.SubIOp(as_value(left), as_value(right)).result


def multiply(left: Index, right: Index) -> Index:
    """The product."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if left == 0 or right == 0:
        return 0
    if left == 1:
        return right
    return left if right == 1 else arith.MulIOp(as_value(left), as_value(right)).result


def at_least(index: Index, bound: Index) -> Index:
    """The larger one."""
    if isinstance(index, int) and isinstance(bound, int):
        return max(index, bound)
    return arith.MaxSIOp(as_value(index), as_value(bound)).result


def at_most(index: Index, bound: Index) -> Index:
    """The smaller one."""
    if isinstance(index, int) and isinstance(bound, int):
        return min(index, bound)
    return arith.MinSIOp(as_value(index), as_value(bound)).result


def clamp(index: Index, size: int) -> Index:
    """``index``, no less than 0 and no more than ``size``."""
    return at_most(at_least(index, 0), size)


def choose(condition: ir.Value, yes: Index, no: Index) -> Index:
    """``yes`` where ``condition`` (i1) is true, else ``no``."""
    return arith.SelectOp(condition, as_value(yes), as_value(no)).result


def mixed(indices: Sequence[Index]) -> tuple[list[ir.Value], list[int]]:
    """``indices`` as ops take them: the values, and numbers of all, with MLIR's mark for what is a value."""
    dynamic = ir.ShapedType.get_dynamic_size()
    values = [index for index in indices if not isinstance(index, int)]
    return values, [index if isinstance(index, int) else dynamic for index in indices]
