"""The machine op that prints a line."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence

from tri_backend_nvidia.debugging import print_line
from tri_backend_nvidia.machine.base import NVM, Array, In, text
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA, print_in_simulator

__all__ = ["PrintOp"]

_Ins = Sequence[In]


class PrintOp(MachineOp, dialect=NVM, name="print"):
    """Each active thread prints ``values``, promoted as variadic arguments of C are, in C's format ``text``."""

    values: _Ins
    text: ir.StringAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """``vprintf``."""
        print_line(b, text(self.text), list(self.operation.operands))
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The same lines, on standard output."""
        print_in_simulator(cta, text(self.text), operands)
        return []
