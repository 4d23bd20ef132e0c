"""The machine op of ``mma.sync`` with block scales."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

from tri_backend_nvidia.machine.base import NVM, Array, In, text
from tri_backend_nvidia.machine.ops.matrix import register_group
from tri_backend_nvidia.machine.scaled_formats import SCALED_KINDS
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["ScaledMmaOp"]

_Ins = Sequence[ext.Operand[Any]]
_Outs = Sequence[ext.Result[Any]]

#: values of ``thread-id`` for A and for B
_THREADS = (2, 4)


class ScaledMmaOp(MachineOp, dialect=NVM, name="mma_scaled"):
    """``mma.sync`` with ``.block_scale``, m16n8: words of the operands, the accumulator so far (f32), and a word of scales for each operand.

    ``kind`` is a key of ``SCALED_KINDS``, which has k and the number of scales of a row; ``kinds`` has PTX's types of A, B and the
    scales.  ``selectors`` are byte-id and thread-id for A, then for B.  PTX ISA, "Block Scaling for mma.sync": of A's
    scales that of row ``i`` is in lane ``4 (i % 8) + 2 thread-id + i / 8``, of B's that of column ``j`` in lane ``4 j + thread-id``, from byte
    byte-id on.
    """

    computes_floats = True

    outputs: _Outs
    left: _Ins
    right: _Ins
    total: _Ins
    a_scale: In
    b_scale: In
    kind: ir.StringAttr
    kinds: ir.StringAttr
    selectors: Any

    def counts(self) -> tuple[int, int, int]:
        """Number of registers of left operand, right operand and accumulator."""
        left, right, total, *_ = ir.DenseI32ArrayAttr(self.operation.attributes["operandSegmentSizes"])
        return left, right, total

    def selected(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """byte-id and thread-id for A and for B; ValueError for those that there are not."""
        numbers = list(ir.DenseI32ArrayAttr(self.selectors))
        scales = SCALED_KINDS[text(self.kind)].scales
        for (byte, thread), threads in zip((numbers[:2], numbers[2:]), _THREADS, strict=True):
            if not (0 <= thread < threads and byte in range(0, 4, scales)):
                raise ValueError(f"selectors {{{byte}, {thread}}} of {scales} scales, of {threads} threads")
        return (numbers[0], numbers[1]), (numbers[2], numbers[3])

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly, the accumulator in the registers of the result."""
        left, right, total = self.counts()
        one, other, scale = text(self.kinds).split()
        kind = text(self.kind)
        row = SCALED_KINDS[kind]
        name = (
            f"mma.sync.aligned.m16n8k{row.k}.row.col.kind::{kind}.block_scale.{row.vectors(family=False)}"
            f".f32.{one}.{other}.f32.{scale}"
        )
        own, words = register_group(0, total), total + left + right
        read = f"{register_group(total, left)}, {register_group(total + left, right)}"
        scales = [
            f"${words + total + i}, {{{byte}, {thread}}}" for i, (byte, thread) in enumerate(self.selected())
        ]
        body = f"{name} {own}, {read}, {own}, {', '.join(scales)};"
        operands, results = list(self.operation.operands), [r.type for r in self.operation.results]
        ties = [str(i) for i in range(total)]
        constraints = ",".join(["=f"] * total + ["r"] * (left + right) + ties + ["r"] * len(scales))
        return b.inline_asm(body, constraints, operands, results, convergent=True)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The dot in double precision, rounded once."""
        from tri_backend_nvidia.machine.simulation import mma_scaled as mma_scaled_simulation

        kinds = text(self.kinds).split()
        return mma_scaled_simulation.multiply(
            cta, text(self.kind), kinds, self.selected(), self.counts(), operands
        )
