"""The machine op of WMMA, which all lanes of a wavefront do together."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_amd.dialect.amdg import AMDG
from tri_backend_amd.mfma.numbers import values
from tri_backend_amd.newer_intrinsics import OURS
from tri_backend_amd.wmma.forms import LANES
from tri_backend_amd.wmma.lanes import matrix_of, result_places
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["WmmaOp"]

Array = npt.NDArray[Any]

_CDNA5 = 3


class WmmaOp(MachineOp, dialect=AMDG, name="wmma"):
    """One instruction: LLVM's words of its operands, and the accumulator so far (8 of f32 or i32).

    ``kinds``: MLIR's element types of the two operands; ``version`` as in :mod:`.forms`; ``intrinsic`` what follows
    ``llvm.amdgcn.wmma.``.
    """

    computes_floats = True

    first: ext.Operand[Any]
    second: ext.Operand[Any]
    total: ext.Operand[Any]
    kinds: ir.StringAttr
    version: ir.IntegerAttr
    intrinsic: ir.StringAttr
    result: ext.Result[Any]

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic; integers are signed, their sums wrap around."""
        name, results = f"wmma.{self.intrinsic.value}", [self.result.type]
        if self.version.value == _CDNA5:
            return b.call(f"{OURS}{name}", self._newer(b), results)
        return b.intrinsic(f"llvm.amdgcn.{name}", self._older(b), results)

    @property
    def _is_integer(self) -> bool:
        return str(self.intrinsic.value).startswith("i32.")

    def _older(self, b: Builder) -> list[ir.Value]:
        """Of integers: whether operands are signed, and whether the sum is clamped."""
        if not self._is_integer:
            return [self.first, self.second, self.total]
        signed, clamp = b.true(), b.int_(0, 1)
        return [signed, self.first, signed, self.second, self.total, clamp]

    def _newer(self, b: Builder) -> list[ir.Value]:
        """CDNA5's: modifiers before operands (not of 8-bit floats) and before the sum (not of integers); whether operands stay for the next one."""
        off = b.int_(0, 1)
        sides = [self.first, self.second]
        if not self.kinds.value.startswith("f8"):
            modifier = b.true() if self._is_integer else off
            sides = [modifier, self.first, modifier, self.second]
        total = [self.total] if self._is_integer else [b.const(b.i16, 0), self.total]
        return [*sides, *total, off, off]

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
