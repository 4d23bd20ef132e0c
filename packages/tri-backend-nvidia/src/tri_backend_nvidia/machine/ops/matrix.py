"""Machine ops of matrices: ``mma.sync`` and ``ldmatrix``, which all lanes of a warp do together."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

from tri_backend_nvidia.machine.base import NVM, Array, In, text
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["LdMatrixOp", "MmaOp", "register_group"]

_Ins = Sequence[ext.Operand[Any]]
_Outs = Sequence[ext.Result[Any]]

#: LLVM's constraint for a register, by MLIR's type
_REGISTER = {"i32": "r", "f32": "f", "f64": "d"}


def register_group(first: int, count: int) -> str:
    """Operands ``first`` to ``first + count - 1`` of inline assembly as a vector of registers."""
    return "{" + ", ".join(f"${i}" for i in range(first, first + count)) + "}"


class MmaOp(MachineOp, dialect=NVM, name="mma"):
    """``mma.sync``: words of the left and of the right operand, and the accumulator so far.

    ``shape`` is ``m16n8k16`` and its like; ``kinds`` has PTX's element types of the three.  Sums in f16 are words of two.
    """

    computes_floats = True

    outputs: _Outs
    left: _Ins
    right: _Ins
    total: _Ins
    shape: ir.StringAttr
    kinds: ir.StringAttr

    def counts(self) -> tuple[int, int, int]:
        """Number of registers of left operand, right operand and accumulator."""
        left, right, total = ir.DenseI32ArrayAttr(self.operation.attributes["operandSegmentSizes"])
        return left, right, total

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly, the accumulator in the registers of the result."""
        left, right, total = self.counts()
        one, other, kind = text(self.kinds).split()
        name = f"mma.sync.aligned.{text(self.shape)}.row.col.{kind}.{one}.{other}.{kind}"
        own = register_group(0, total)
        body = f"{name} {own}, {register_group(total, left)}, {register_group(total + left, right)}, {own};"
        operands, results = list(self.operation.operands), [r.type for r in self.operation.results]
        register = _REGISTER[str(results[0])]
        words = [_REGISTER[str(v.type)] for v in operands[: left + right]]
        ties = [str(i) for i in range(total)]
        constraints = ",".join([f"={register}"] * total + words + ties)
        return b.inline_asm(body, constraints, operands, results, convergent=True)

    def simulate_exactly(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The dot of integers modulo a power of two."""
        from tri_backend_nvidia.machine.simulation import matrix as matrix_simulation

        kinds = text(self.kinds).split()
        if kinds[2] == "s32":
            return self.simulate(cta, operands)
        return matrix_simulation.multiply_exactly(cta, text(self.shape), kinds, self.counts(), operands)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The dot in double precision, rounded once to the accumulator's type."""
        from tri_backend_nvidia.machine.simulation import matrix as matrix_simulation

        kinds = text(self.kinds).split()
        return matrix_simulation.multiply(cta, text(self.shape), kinds, self.counts(), operands)


class LdMatrixOp(MachineOp, dialect=NVM, name="ldmatrix"):
    """``ldmatrix``: as many 8 x 8 matrices of 16-bit elements as there are results (i32: 1, 2 or 4).

    Lane i has the address of row ``i % 8`` of matrix ``i // 8``, 16 bytes.  In word j lane i gets elements
    ``2 * (i % 4)`` and the next of row ``i // 4`` of matrix j; with ``transposed``, of column ``i // 4``.
    """

    outputs: _Outs
    pointer: In
    transposed: Any

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """LLVM's intrinsic."""
        count = len(self.operation.results)
        trans = ".trans" if ir.BoolAttr(self.transposed).value else ""
        name = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{count}{trans}.b16.p3"
        if count == 1:
            return b.intrinsic(name, [self.pointer], [b.i32])
        fields = [b.i32] * count
        (struct,) = b.intrinsic(name, [self.pointer], [b.struct_type(fields)])
        return b.struct_fields(struct, fields)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Rows read by the lanes that have their addresses, then dealt out."""
        from tri_backend_nvidia.machine.simulation import matrix as matrix_simulation

        transposed = ir.BoolAttr(self.transposed).value
        return matrix_simulation.load_matrices(cta, operands[0], len(self.operation.results), transposed)
