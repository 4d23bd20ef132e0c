"""The machine op ``stmatrix``: what ``ldmatrix`` reads, written, by all lanes of a warp together (sm_90 on)."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

from tri_backend_nvidia.machine.base import NVM, Array, In
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["StMatrixOp"]


class StMatrixOp(MachineOp, dialect=NVM, name="stmatrix"):
    """``stmatrix``: as many 8 x 8 matrices of 16-bit elements as there are words (i32: 1, 2 or 4).

    Lane i has the address of row ``i % 8`` of matrix ``i // 8``, 16 bytes.  Word j of lane i holds elements
    ``2 * (i % 4)`` and the next of row ``i // 4`` of matrix j; with ``transposed``, of column ``i // 4``.
    PTX ISA 9.7.14.5.16.
    """

    pointer: In
    words: Sequence[ext.Operand[Any]]
    transposed: Any

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """LLVM's intrinsic."""
        pointer, *words = self.operation.operands
        trans = ".trans" if ir.BoolAttr(self.transposed).value else ""
        name = f"llvm.nvvm.stmatrix.sync.aligned.m8n8.x{len(words)}{trans}.b16.p3"
        return b.intrinsic(name, [pointer, *words], [])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Rows put together from the lanes' words, written by the lanes that have their addresses."""
        from tri_backend_nvidia.machine.simulation import matrix as matrix_simulation

        pointer, *words = operands
        matrix_simulation.store_matrices(cta, pointer, words, ir.BoolAttr(self.transposed).value)
        return []
