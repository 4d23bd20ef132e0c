"""The machine op that says how an access through a pointer uses the first cache."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_intel.dialect.builtins import call_builtin
from tri_backend_intel.dialect.ttig import TTIG
from tri_core.ir.traits import Pure
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["CACHE_MARKER", "CacheControlOp"]

Array = npt.NDArray[np.generic]

#: name of the functions whose calls stand for the decoration: it, decoration and control follow
CACHE_MARKER = "tri_cache_control"


class CacheControlOp(MachineOp, dialect=TTIG, name="cache_control", traits=[Pure]):
    """``pointer`` (global), accesses through which use the first cache as ``control`` says; a hint.

    ``decoration`` and ``control`` are numbers of the extension SPV_INTEL_cache_controls.
    """

    pointer: ext.Operand[Any]
    result: ext.Result[Any]
    decoration: ir.IntegerAttr
    control: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """A call that the stage ``spv`` makes a decoration of: no op of LLVM's dialect carries that metadata."""
        symbol = f"{CACHE_MARKER}_{self.decoration.value}_{self.control.value}"
        return call_builtin(b, symbol, [self.pointer], [self.pointer.type])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The pointer: the simulator has no caches."""
        return [operands[0]]
