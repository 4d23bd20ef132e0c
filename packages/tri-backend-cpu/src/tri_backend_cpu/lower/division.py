"""Division of many floats by one: by its reciprocal, with a correction.

A vector division takes several times as long as the three operations used here.  With r = 1/d and q = x r,
the remainder x - q d is exact and q + r (x - q d) is the quotient, rounded to nearest, as long as nothing
under- or overflows.  A divisor far from 1 is therefore divided by; a quotient that is infinite or NaN is
left as it is; near the smallest normal numbers one may be off by a unit in the last place.
"""

from __future__ import annotations

from tri_backend_cpu.builder import Builder, width_of
from tri_core.mlir import ir
from tri_core.ttir import DType

__all__ = ["Divisor", "divide"]

#: divisors between 2**-SAFE and 2**SAFE have a reciprocal that loses nothing
_SAFE = {32: 60, 64: 500}


class Divisor:
    """A scalar to divide by, with what can be computed of it beforehand."""

    def __init__(self, b: Builder, value: ir.Value, dtype: DType) -> None:
        self.value = value
        self.dtype = dtype
        self.reciprocal = b.same("arith.divf", b.constant(1.0, dtype), value)
        magnitude = b.same("math.absf", value)
        limit = 2.0 ** _SAFE[dtype.bits]
        large_enough = b.fcmp("ogt", magnitude, b.constant(1 / limit, dtype))
        small_enough = b.fcmp("olt", magnitude, b.constant(limit, dtype))
        self.is_safe = b.same("arith.andi", large_enough, small_enough)


def divide(b: Builder, x: ir.Value, divisor: Divisor) -> ir.Value:
    """Vector ``x`` divided by ``divisor``."""
    width = width_of(x)
    branch, yes, no = b.branch(divisor.is_safe, [x.type])
    with b.inside(yes):
        d, r = b.splat(divisor.value, width), b.splat(divisor.reciprocal, width)
        quotient = b.same("arith.mulf", x, r)
        remainder = b.same("math.fma", b.same("arith.negf", quotient), d, x)
        better = b.same("math.fma", remainder, r, quotient)
        b.yield_(b.select(b.fcmp("uno", better, better), quotient, better))
    with b.inside(no):
        b.yield_(b.same("arith.divf", x, b.splat(divisor.value, width)))
    return branch.result
