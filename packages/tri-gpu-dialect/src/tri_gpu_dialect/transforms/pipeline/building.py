"""Constants and ops of integers that pipelined loops are made with, at the ambient insertion point."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.mlir import ir

__all__ = ["add", "build", "equal", "integer", "less", "multiply", "subtract", "zeros"]

_EQ, _SLT = 0, 2


def build(
    name: str,
    operands: Sequence[ir.Value],
    results: Sequence[ir.Type],
    attributes: dict[str, ir.Attribute] | None = None,
) -> ir.Value:
    """A new op; its first result."""
    return ir.Operation.create(name, results=results, operands=operands, attributes=attributes).results[0]


def integer(type_: ir.Type, value: int) -> ir.Value:
    """The constant ``value`` of ``type_``."""
    return build("arith.constant", [], [type_], {"value": ir.IntegerAttr.get(type_, value)})


def zeros(type_: ir.Type) -> ir.Value:
    """The constant of ``type_``, a number or a tensor of numbers, that is zero everywhere."""
    element = type_.element_type if isinstance(type_, ir.ShapedType) else type_
    zero = (
        ir.FloatAttr.get(element, 0.0)
        if isinstance(element, ir.FloatType)
        else ir.IntegerAttr.get(element, 0)
    )
    value = zero if element == type_ else ir.DenseElementsAttr.get_splat(type_, zero)
    return build("arith.constant", [], [type_], {"value": value})


def add(a: ir.Value, b: ir.Value) -> ir.Value:
    """``a + b``."""
    return build("arith.addi", [a, b], [a.type])


def subtract(a: ir.Value, b: ir.Value) -> ir.Value:
    """``a - b``."""
    return build("arith.subi", [a, b], [a.type])


def multiply(a: ir.Value, b: ir.Value) -> ir.Value:
    """``a * b``."""
    return build("arith.muli", [a, b], [a.type])


def equal(a: ir.Value, b: ir.Value) -> ir.Value:
    """Condition (i1) ``a == b``."""
    return _compare(_EQ, a, b)


def less(a: ir.Value, b: ir.Value) -> ir.Value:
    """Condition (i1) ``a < b``, signed."""
    return _compare(_SLT, a, b)


def _compare(predicate: int, a: ir.Value, b: ir.Value) -> ir.Value:
    kind = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
    return build("arith.cmpi", [a, b], [ir.IntegerType.get_signless(1)], {"predicate": kind})
