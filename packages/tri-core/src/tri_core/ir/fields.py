"""The fields that an op's class declares."""

from __future__ import annotations

from tri_core.mlir import ir

__all__ = ["operand_names"]


def operand_names(op: type[ir.OpView]) -> tuple[str, ...] | None:
    """The operands of ops of class ``op``, in order, optional ones included; None where one stands for several values."""
    fields = [field for field in op._fields if type(field).__name__ == "OperandDef"]
    if any(field.variadicity.name == "variadic" for field in fields):
        return None
    return tuple(field.name for field in fields)
