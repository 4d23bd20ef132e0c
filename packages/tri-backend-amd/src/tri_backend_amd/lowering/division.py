"""Quotients of f32 by a divisor that several elements have in common: one reciprocal for all of them.

LLVM's division is ten instructions for each element, three of them transcendental or at a quarter of the rate.  Here an element costs
five, of which four are packed in pairs where the processor does that: a scaling, the product with the reciprocal, a correction by the
remainder, and ``v_div_fixup_f32`` for zeros, infinities and NaN.  The error is below 1 ulp, and quotients that are representable are
exact (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990).  Where the remainder of a dividend
would be denormal (of dividends below 2**-100) it corrects little, and the product with the reciprocal alone is within 2 ulp; a quotient
that is denormal may be off by the least denormal.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_amd.dialect import DivFixupOp, ReciprocalOp
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder, Lowered, Lowering, LoweringTable

__all__ = ["add_rules"]

#: from so many elements a divisor on, one reciprocal is cheaper
_SHARING = 4
#: divisors beyond these bounds are scaled, so that neither they nor their reciprocals are denormal
_LARGE, _SMALL = 2.0**96, 2.0**-96
_DOWN, _UP = 2.0**-32, 2.0**32


def _divides_by_few(ctx: Lowering, op: ir.Operation) -> bool:
    if str(ctx.element(op.results[0].type)) != "f32":
        return False
    divisors = ctx.registers(op.operands[1])
    return len(set(divisors)) * _SHARING <= len(divisors)


def _divide(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``arith.divf``."""
    dividends, divisors = (ctx.registers(o) for o in op.operands)
    by_divisor = {d: _Divisor(ctx.b, d) for d in dict.fromkeys(divisors)}
    return [[by_divisor[d].of(n) for n, d in zip(dividends, divisors, strict=True)]]


class _Divisor:
    """Divides by one value."""

    def __init__(self, b: Builder, divisor: ir.Value) -> None:
        self.b, self.divisor = b, divisor
        size = b.op("llvm.intr.fabs", (divisor,), b.f32)
        scale = b.select(b.fcmp("ogt", size, b.float_(_LARGE)), b.float_(_DOWN), b.float_(1.0))
        self.scale = b.select(b.fcmp("olt", size, b.float_(_SMALL)), b.float_(_UP), scale)
        scaled = b.fmul(divisor, self.scale)
        self.back = b.fneg(scaled)
        first = ReciprocalOp.build([scaled], [b.f32])[0]
        self.reciprocal = b.fma(b.fma(self.back, first, b.float_(1.0)), first, first)

    def of(self, dividend: ir.Value) -> ir.Value:
        b = self.b
        scaled = b.fmul(dividend, self.scale)
        quotient = b.fmul(scaled, self.reciprocal)
        corrected = b.fma(b.fma(self.back, quotient, scaled), self.reciprocal, quotient)
        return DivFixupOp.build([corrected, self.divisor, dividend], [b.f32])[0]


def add_rules(table: LoweringTable) -> None:
    """Register the rule, for divisors that are shared."""
    table.add("arith.divf", _divide, when=_divides_by_few, owner=f"{__name__}.divf")
