"""The machine op that prints a line."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_intel.dialect.builtins import call_printf
from tri_backend_intel.dialect.ttig import TTIG
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA, print_in_simulator

__all__ = ["PrintOp"]

_Ins = Sequence[ext.Operand[Any]]
Array = npt.NDArray[np.generic]


class PrintOp(MachineOp, dialect=TTIG, name="print"):
    """Each active work item prints ``values``, of 32 or 64 bits, in OpenCL C's format ``text``."""

    values: _Ins
    text: ir.StringAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """OpenCL's ``printf``."""
        call_printf(b, ir.StringAttr(self.text).value, list(self.operation.operands))
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The same lines, on standard output."""
        print_in_simulator(cta, ir.StringAttr(self.text).value, operands)
        return []
