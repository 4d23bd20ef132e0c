"""The machine op that rounds to bf16."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_intel.dialect.builtins import call_builtin, mangled
from tri_backend_intel.dialect.ttig import TTIG
from tri_core.ir.traits import Pure
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["RoundToBf16Op"]

Array = npt.NDArray[np.generic]

_HALF, _QUIET = 0x7FFF, 0x40


class RoundToBf16Op(MachineOp, dialect=TTIG, name="round_to_bf16", traits=[Pure]):
    """An f32 as the bits (i16) of the nearest bf16, of two as near the even one; NaN stays one.

    Source: the extension SPV_INTEL_bfloat16_conversion.
    """

    computes_floats = True

    value: ext.Operand[Any]
    result: ext.Result[Any]

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """OpConvertFToBF16INTEL."""
        symbol = mangled("__spirv_ConvertFToBF16INTEL", [b.f32])
        return call_builtin(b, symbol, [self.value], [b.int_type(16)])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """On the bits: half a unit of the last place is added, less by one where that place is 0."""
        bits = operands[0].astype(np.float32).view(np.uint32)
        rounded = (bits.astype(np.uint64) + _HALF + ((bits >> 16) & 1)) >> 16
        made = np.where(np.isnan(operands[0]), (bits >> 16) | _QUIET, rounded)
        return [made.astype(np.uint16).view(np.int16)]
