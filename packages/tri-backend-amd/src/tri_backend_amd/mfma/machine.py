"""The machine op of MFMA, which all lanes of a wavefront do together."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_amd.dialect.amdg import AMDG
from tri_backend_amd.mfma.forms import LANES
from tri_backend_amd.mfma.lanes import operand_places, result_places
from tri_backend_amd.mfma.numbers import values
from tri_core.mlir import ext, ir
from tri_core.ring import elements
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["MfmaOp"]

Array = npt.NDArray[Any]


class MfmaOp(MachineOp, dialect=AMDG, name="mfma"):
    """One instruction: LLVM's words of its operands, and the accumulator so far (f32, i32 or f64).

    ``shape`` is m, n, k and the number of blocks; ``kinds`` MLIR's element types of the two operands (``xf32`` for f32 with a mantissa
    of 10 bits); ``intrinsic`` what follows ``llvm.amdgcn.mfma.``.  The first operand of block ``shared`` serves all blocks (-1: each its
    own).  ``formats`` of 8-bit floats are given to the instructions for all narrow floats, whose intrinsics begin with ``scale.``.
    """

    computes_floats = True

    first: ext.Operand[Any]
    second: ext.Operand[Any]
    total: ext.Operand[Any]
    shape: ir.StringAttr
    kinds: ir.StringAttr
    intrinsic: ir.StringAttr
    shared: ir.IntegerAttr
    formats: ir.StringAttr
    result: ext.Result[Any]

    def _shape(self) -> tuple[int, int, int, int]:
        m, n, k, blocks = map(int, self.shape.value.split())
        return m, n, k, blocks

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic, which broadcasts a block of 16 (``cbsz`` 4, ``abid``), or has formats and no scales."""
        blocks, shared = self._shape()[3], self.shared.value
        if self.intrinsic.value.startswith("scale."):
            formats = map(int, self.formats.value.split())
            numbers = [*formats, 0, 0, 0, 0]
        elif shared >= 0:
            numbers = [blocks.bit_length() - 1, shared, 0]
        else:
            numbers = [0, 0, 0]
        operands = [self.first, self.second, self.total, *map(b.int_, numbers)]
        return b.intrinsic(f"llvm.amdgcn.mfma.{self.intrinsic.value}", operands, [self.result.type])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The products of all blocks in double precision (integers: exactly), rounded once."""
        return self._multiplied(cta, operands, values)

    def simulate_exactly(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The same, of integers modulo a power of two."""
        if "i8" in self.kinds.value:
            return self.simulate(cta, operands)
        total = operands[2]
        given = [*operands[:2], total.view(f"i{total.dtype.itemsize}")]

        def read(words: Array, kind: str) -> Array:
            return elements(words, kind).astype(given[2].dtype)

        return [self._multiplied(cta, given, read)[0].view(total.dtype)]

    def _multiplied(
        self, cta: SimulatedCTA, operands: Sequence[Array], values: Callable[[Array, str], Array]
    ) -> Sequence[Array]:
        (m, n, k, blocks), (left, right) = self._shape(), self.kinds.value.split()
        halves = 2 if self.intrinsic.value.startswith("scale.") else 1
        waves = cta.num_threads // LANES
        sides = []
        for words, kind, size in ((operands[0], left, m), (operands[1], right, n)):
            places = operand_places(size, k, blocks, halves)
            elements = values(words, kind).reshape(waves, LANES, -1)
            matrix = np.zeros((waves, blocks, size, k), elements.dtype)
            matrix[:, *places] = elements
            sides.append(matrix)
        if self.shared.value >= 0:
            sides[0] = np.repeat(sides[0][:, self.shared.value, None], blocks, axis=1)
        with np.errstate(all="ignore"):
            product = sides[0] @ sides[1].swapaxes(2, 3)
            total = operands[2].reshape(cta.num_threads, -1)
            places = result_places(m, n, blocks, double=total.dtype.itemsize == 8)
            made = product[:, *places].reshape(total.shape) + total.astype(product.dtype)
            return [made.astype(total.dtype).reshape(operands[2].shape)]
