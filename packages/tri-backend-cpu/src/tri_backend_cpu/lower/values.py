"""Interface of the evaluator for the rules of memory and of linear integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tri_backend_cpu.analysis.plan import Plan, View
from tri_backend_cpu.lower.context import Context
from tri_backend_cpu.lower.frame import Frame
from tri_backend_cpu.lower.place import Address, Lanes, Place
from tri_core.mlir import ir
from tri_core.ttir import Op, Value

__all__ = ["Values"]


class Values(Protocol):
    """Values of one nest by place; ``Evaluator`` computes them.

    ``moved``: how far each induction has moved, as SSA values.
    """

    context: Context
    frame: Frame
    plan: Plan
    moved: Mapping[Value, ir.Value]

    def lanes(self, value: Value, place: Place) -> Lanes:
        """``value`` at ``place``."""
        ...

    def scalar(self, value: Value) -> ir.Value:
        """The SSA value of a scalar."""
        ...

    def address(self, pointer: Value, place: Place) -> Address:
        """Address of ``pointer`` at ``place``."""
        ...

    def mask_outside(self, mask: Value | None, place: Place, level: int) -> Lanes | None:
        """``mask`` for an op at ``level``; None when it is true everywhere."""
        ...

    def is_stored(self, value: Value) -> bool:
        """True if ``value`` is read from the buffer to which an earlier step wrote it."""
        ...

    def by_op(self, value: Value, op: Op, place: Place) -> Lanes:
        """``value`` by the rule of the op that defines it."""
        ...

    def read(self, view: View, place: Place) -> Lanes:
        """Contents of ``view`` at ``place``."""
        ...

    def operand_place(self, op: Op, place: Place) -> Place:
        """Place of the first operand of a shape op whose result is evaluated at ``place``."""
        ...
