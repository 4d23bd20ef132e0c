"""The machine op that prints a line, in the simulator."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_amd.dialect.amdg import AMDG
from tri_core.errors import Unsupported
from tri_core.locations import source_location
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA, print_in_simulator

__all__ = ["PrintOp"]

_Ins = Sequence[ext.Operand[Any]]
Array = npt.NDArray[np.generic]


class PrintOp(MachineOp, dialect=AMDG, name="print"):
    """Each active work item prints ``values``, promoted as variadic arguments of C are, in C's format ``text``."""

    values: _Ins
    text: ir.StringAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Refused: a kernel's ``printf`` is carried out by a service on the host, which is not built."""
        raise Unsupported(
            "amd cannot print from a kernel",
            remedy="remove device_print, or run the kernel in the simulator (sim:amd:...) or the interpreter",
            location=source_location(self.operation.location),
        )

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Lines on standard output, as other GPUs print them."""
        print_in_simulator(cta, ir.StringAttr(self.text).value, operands)
        return []
