"""Exponentials: ``x = n ln 2 + r``, a polynomial in r, and 2**n as a bit pattern (Cody and Waite, 1980)."""

from __future__ import annotations

from tri_core.mlir import ir
from tri_gpu_dialect.lowering import math_expansions
from tri_gpu_dialect.lowering.functions import coefficients as c
from tri_gpu_dialect.lowering.functions.real import Real, polynomial

__all__ = ["exp", "exp2", "expm1", "power_of_e", "power_of_two"]

#: beyond these exp is 0 or infinity, by format
_EXP_RANGE = {32: (-108.0, 90.0), 64: (-748.0, 712.0)}


def _reduced(x: Real) -> tuple[ir.Value, Real]:
    """n and r.  ln 2 has all of its bits: the fused product is exact, and so is the difference."""
    high, low, *_ = c.LN2[x.width]
    n, count = (x * c.LOG2E[x.width][0]).nearest()
    return count, n.fma(-low, n.fma(-high, x))


def _expm1_reduced(r: Real) -> Real:
    return (r * r).fma(polynomial(r, c.EXP), r)


def power_of_e(x: Real) -> tuple[Real, ir.Value]:
    """``exp(x) = p * 2**n``: p near 1 and n (i32), for x within the range where exp is neither 0 nor infinity."""
    count, r = _reduced(x)
    return _expm1_reduced(r) + 1.0, count


def exp(x: Real, halvings: int = 0) -> Real:
    """e to the x, over ``2**halvings``."""
    power, count = power_of_e(x.clamp(*_EXP_RANGE[x.width]))
    return power.scaled(x.b.sub(count, x.b.int_(halvings))).unless_nan(x)


def power_of_two(fraction: Real, count: ir.Value) -> Real:
    """2 to the ``fraction + count``."""
    return fraction.fma(polynomial(fraction, c.EXP2), 1.0).scaled(count)


def exp2(x: Real) -> Real:
    """2 to the x."""
    inside = x.clamp(-1080.0, 1030.0)
    n, count = inside.nearest()
    return power_of_two(inside - n, count).unless_nan(x)


def expm1(x: Real) -> Real:
    """``exp(x) - 1``, of half the size so as not to overflow: ``2**n expm1(r) + (2**n - 1)``."""
    if x.width == 32:
        return Real(x.b, math_expansions.expm1(x.b, x.value))
    count, r = _reduced(x.clamp(-45.0, 709.9))
    half = x.of(0.5).scaled(count)
    result = _expm1_reduced(r).fma(half, half - 0.5) * 2.0
    return x.where(x.abs() < 2.0**-54, result).unless_nan(x)
