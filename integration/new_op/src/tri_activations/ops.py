"""The dialect ``act``."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from typing import Any

from tri_core.ir.traits import Decomposable, Elementwise, Pure
from tri_core.mlir import ext, ir


class Act(ext.Dialect, name="act"):
    """Activation functions."""


def splat(like: ir.Value, number: float) -> ir.Value:
    """``number`` in every element of a value like ``like``."""
    type_ = like.type
    if isinstance(type_, ir.RankedTensorType):
        value: ir.Attribute = ir.DenseElementsAttr.get_splat(
            type_, ir.FloatAttr.get(type_.element_type, number)
        )
    else:
        value = ir.FloatAttr.get(type_, number)
    return ir.Operation.create("arith.constant", results=[type_], attributes={"value": value}).result


def compute(name: str, *operands: ir.Value) -> ir.Value:
    """An op of MLIR's on values of one type."""
    return ir.Operation.create(name, results=[operands[0].type], operands=list(operands)).result


class SquareOp(Act.Operation, name="square", traits=[Pure, Elementwise, Decomposable]):
    """``x * x``."""

    x: ext.Operand[Any]
    result: ext.Result[Any]

    def decompose(self) -> ir.Value:
        """One multiplication."""
        return compute("arith.mulf", self.x, self.x)
