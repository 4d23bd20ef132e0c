"""Machine ops of arithmetic: hardware approximations, fast division, conversions of small floats, bytes of words."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence

from tri_backend_nvidia.machine.base import NVM, Array, In, Out, text
from tri_core.ir.traits import Pure
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["ApproximateOp", "ConvertOp", "DivideFullOp", "PermuteBytesOp"]


class ApproximateOp(MachineOp, dialect=NVM, name="approximate", traits=[Pure]):
    """A function of one f32 by one instruction (``ex2.approx.f32``)."""

    computes_floats = True

    value: In
    instruction: ir.StringAttr
    result: Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly without side effects: equal ones are merged."""
        return b.inline_asm(
            f"{text(self.instruction)} $0, $1;", "=f,f", [self.value], [b.f32], side_effects=False
        )

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The function itself, in double precision, rounded."""
        from tri_backend_nvidia.machine.simulation import core as simulation

        return [simulation.approximate(text(self.instruction), operands[0])]


class DivideFullOp(MachineOp, dialect=NVM, name="divide_full", traits=[Pure]):
    """``div.full.f32``: a quotient with an error of at most 2 ulp over the whole range."""

    computes_floats = True

    a: In
    b: In
    result: Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly without side effects."""
        return b.inline_asm(
            "div.full.f32 $0, $1, $2;", "=f,f,f", [self.a, self.b], [b.f32], side_effects=False
        )

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The exact quotient, rounded."""
        from tri_backend_nvidia.machine.simulation import core as simulation

        return [simulation.divide(*operands)]


class ConvertOp(MachineOp, dialect=NVM, name="convert", traits=[Pure]):
    """``cvt``: two values at a time, or one, between float formats; values are integers of their bits.

    ``instruction`` is its whole name.  A packed one takes its upper half first.
    """

    computes_floats = True

    values: Sequence[In]
    instruction: ir.StringAttr
    result: Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly without side effects."""
        operands = list(self.operands)
        letters = [_register(o.type) for o in (self.result, *operands)]
        places = ", ".join(f"${i}" for i in range(len(letters)))
        constraints = ",".join([f"={letters[0]}", *letters[1:]])
        return b.inline_asm(
            f"{text(self.instruction)} {places};",
            constraints,
            operands,
            [self.result.type],
            side_effects=False,
        )

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """By the tables of the formats."""
        from tri_backend_nvidia.machine.simulation.conversions import convert

        return [convert(text(self.instruction), operands)]


class PermuteBytesOp(MachineOp, dialect=NVM, name="permute_bytes", traits=[Pure]):
    """``prmt.b32``: byte i of the result (i32) is that of ``high:low`` which the low bits of digit i of ``selector`` name.

    Bytes 0 to 3 are those of ``low``.  Bit 3 of a digit repeats the byte's sign.  PTX ISA, "Data Movement and Conversion
    Instructions": ``prmt``, its default mode.
    """

    low: In
    high: In
    selector: In
    result: Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """LLVM's intrinsic."""
        return b.intrinsic("llvm.nvvm.prmt", [self.low, self.high, self.selector], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A gather of bytes."""
        from tri_backend_nvidia.machine.simulation import core as simulation

        return [simulation.permute_bytes(*operands)]


def _register(type_: ir.Type) -> str:
    if isinstance(type_, ir.F32Type):
        return "f"
    return {16: "h", 32: "r", 64: "l"}[type_.width]
