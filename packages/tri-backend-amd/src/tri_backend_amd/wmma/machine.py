"""The machine op of WMMA, which all lanes of a wavefront do together."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_amd.dialect.amdg import AMDG
from tri_backend_amd.mfma.numbers import values
from tri_backend_amd.wmma.forms import LANES
from tri_backend_amd.wmma.lanes import matrix_of, result_places
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["WmmaOp"]

Array = npt.NDArray[Any]


class WmmaOp(MachineOp, dialect=AMDG, name="wmma"):
    """One instruction: LLVM's words of its operands, and the accumulator so far (8 of f32 or i32).

    ``kinds``: MLIR's element types of the two operands; ``version`` as in :mod:`.forms`; ``intrinsic`` what follows
    ``llvm.amdgcn.wmma.``.
    """

    first: ext.Operand[Any]
    second: ext.Operand[Any]
    total: ext.Operand[Any]
    kinds: ir.StringAttr
    version: ir.IntegerAttr
    intrinsic: ir.StringAttr
    result: ext.Result[Any]

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic; integers are signed, their sums wrap around."""
        operands = [self.first, self.second, self.total]
        if self.intrinsic.value.startswith("i32."):
            signed, clamp = b.true(), b.int_(0, 1)
            operands = [signed, self.first, signed, self.second, self.total, clamp]
        return b.intrinsic(f"llvm.amdgcn.wmma.{self.intrinsic.value}", operands, [self.result.type])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The product in double precision (integers: exactly), rounded once."""
        version, waves = self.version.value, cta.num_threads // LANES
        sides = [
            matrix_of(values(words, kind).reshape(waves, LANES, -1), version)
            for words, kind in zip(operands[:2], self.kinds.value.split(), strict=True)
        ]
        with np.errstate(all="ignore"):
            product = sides[0] @ sides[1].swapaxes(1, 2)
            total = operands[2].reshape(cta.num_threads, -1)
            made = product[:, *result_places(version)].reshape(total.shape) + total.astype(product.dtype)
            return [made.astype(total.dtype).reshape(operands[2].shape)]
