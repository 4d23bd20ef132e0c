"""The machine op of MFMA with block scales."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_amd.dialect.amdg import AMDG
from tri_backend_amd.mfma.forms import LANES
from tri_backend_amd.mfma.lanes import operand_places, result_places, scale_places
from tri_backend_amd.mfma.numbers import values
from tri_backend_amd.mfma.scaled_forms import CODES, GROUP, per_byte
from tri_core.dialects.tt.enums import ScaleDotElemType
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["ScaledMfmaOp"]

Array = npt.NDArray[Any]

#: formats as :func:`tri_backend_amd.mfma.numbers.values` calls them
_KINDS = {
    ScaleDotElemType.E4M3: "f8E4M3FN",
    ScaleDotElemType.E5M2: "f8E5M2",
    ScaleDotElemType.E2M1: "e2m1",
}
_NAN, _BIAS = 0xFF, 127


class ScaledMfmaOp(MachineOp, dialect=AMDG, name="mfma_scaled"):
    """One instruction: LLVM's words of its operands, the accumulator so far (f32), and a word (i32) of scales of each operand.

    ``shape`` is m, n, k; ``formats`` numbers of ``ScaleDotElemType`` of the two operands.  A lane has the scale of row (column)
    ``lane % m`` and of the numbers ``32 * (lane // m)`` to that plus 31 along k, in the byte of its word that ``selectors`` names.
    """

    computes_floats = True

    first: ext.Operand[Any]
    second: ext.Operand[Any]
    total: ext.Operand[Any]
    first_scale: ext.Operand[Any]
    second_scale: ext.Operand[Any]
    shape: Any
    formats: Any
    selectors: Any
    result: ext.Result[Any]

    def _formats(self) -> list[ScaleDotElemType]:
        return [ScaleDotElemType(each) for each in ir.DenseI32ArrayAttr(self.formats)]

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic; operands of 4 bits are half as wide."""
        m, n, k = ir.DenseI32ArrayAttr(self.shape)
        formats = self._formats()
        words = ".".join(f"v{8 // per_byte(each)}i32" for each in formats)
        codes = [b.int_(CODES[each]) for each in formats]
        of_first, of_second = map(b.int_, ir.DenseI32ArrayAttr(self.selectors))
        scales = [of_first, self.first_scale, of_second, self.second_scale]
        operands = [self.first, self.second, self.total, *codes, *scales]
        name = f"llvm.amdgcn.mfma.scale.f32.{m}x{n}x{k}.f8f6f4.{words}"
        return b.intrinsic(name, operands, [self.result.type])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The products in double precision, rounded once."""
        m, n, k = ir.DenseI32ArrayAttr(self.shape)
        waves = cta.num_threads // LANES
        sides = []
        for number, size in enumerate((m, n)):
            format_ = self._formats()[number]
            *_, rows, depth = operand_places(size, k, halves=2 // per_byte(format_))
            matrix = np.zeros((waves, size, k))
            matrix[:, rows, depth] = values(operands[number], _KINDS[format_]).reshape(waves, LANES, -1)
            byte = list(ir.DenseI32ArrayAttr(self.selectors))[number]
            matrix *= _factors(operands[3 + number].reshape(waves, LANES), byte, size, k)
            sides.append(matrix)
        with np.errstate(all="ignore"):
            product = sides[0] @ sides[1].swapaxes(1, 2)
            total = operands[2].reshape(cta.num_threads, -1)
            _, rows, columns = result_places(m, n)
            made = product[:, rows, columns].reshape(total.shape) + total
            return [made.astype(total.dtype).reshape(operands[2].shape)]


def _factors(words: Array, byte: int, size: int, k: int) -> Array:
    """Factors of all elements of an operand: (wavefronts, rows, k)."""
    exponents = words.astype(np.int64) >> 8 * byte & 0xFF
    rows, groups = scale_places(size)
    found = np.zeros((len(words), size, k // GROUP))
    found[:, rows, groups] = np.where(exponents == _NAN, np.nan, np.ldexp(1.0, exponents - _BIAS))
    return found.repeat(GROUP, axis=2)
