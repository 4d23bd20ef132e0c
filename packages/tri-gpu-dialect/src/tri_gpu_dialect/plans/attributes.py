"""Reading attributes that ops carry without declaring them."""

from __future__ import annotations

from tri_core.mlir import ir

__all__ = ["flag"]


def flag(op: ir.Operation, name: str) -> bool:
    """True if ``op`` has the attribute ``name``, as a unit or as anything but false."""
    if name not in op.attributes:
        return False
    attribute = op.attributes[name]
    if isinstance(attribute, ir.BoolAttr | ir.IntegerAttr):
        return bool(attribute.value)
    return True
