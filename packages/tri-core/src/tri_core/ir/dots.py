"""Matrix multiplications, whatever op does them: ``a @ b + c``."""

from __future__ import annotations

from tri_core.ir.traits import Trait
from tri_core.mlir import ir

__all__ = ["Dot", "DotLike", "is_dot"]


class DotLike(Trait):
    """Multiplies ``a`` by ``b``, tensors or buffers, and adds ``c``: its first three operands, by these names."""


def is_dot(op: ir.Operation) -> bool:
    """True if ``op`` multiplies matrices."""
    return DotLike.declared_by(op.name)


class Dot:
    """The operands of ``operation``, which is :class:`DotLike`."""

    __slots__ = ("operation",)

    def __init__(self, operation: ir.Operation) -> None:
        self.operation = operation

    @property
    def a(self) -> ir.Value:
        """The left operand: (..., m, k)."""
        return self.operation.operands[0]

    @property
    def b(self) -> ir.Value:
        """The right operand: (..., k, n)."""
        return self.operation.operands[1]

    @property
    def c(self) -> ir.Value:
        """The accumulator: (..., m, n)."""
        return self.operation.operands[2]
