"""Powers in f64: ``2 ** (y log2 x)``, the product held in two pieces."""

from __future__ import annotations

import math

from tri_core.mlir import ir
from tri_gpu_dialect.lowering.functions.exponential import power_of_two
from tri_gpu_dialect.lowering.functions.logarithm import log2_pair
from tri_gpu_dialect.lowering.functions.real import Real, product

__all__ = ["pow_", "rsqrt"]


def pow_(x: Real, y: Real) -> Real:
    """x to the y, by the rules of C."""
    b, size = x.b, x.abs()
    magnitude = _special(size, y, _power(size, y))
    magnitude = (-magnitude).where(b.and_(x.negative(), _is_odd(y)), magnitude)
    finite_below_zero = b.and_(x < 0.0, size < math.inf)
    result = x.of(math.nan).where(b.and_(finite_below_zero, b.not_(_is_integer(y))), magnitude)
    result = (x + y).where(x.unordered(y), result)
    return x.of(1.0).where(b.or_(x.equals(1.0), y.equals(0.0)), result)


def _is_integer(y: Real) -> ir.Value:
    """Infinities and large numbers are."""
    return y.trunc().equals(y)


def _is_odd(y: Real) -> ir.Value:
    return y.b.and_(_is_integer(y), y.b.not_(_is_integer(y * 0.5)))


def _special(size: Real, y: Real, result: Real) -> Real:
    """Powers of 0 and infinity, and infinite powers; ``size`` is not negative."""
    b, infinity, zero = size.b, size.of(math.inf), size.of(0.0)
    rises = y > 0.0
    result = zero.where(rises, infinity).where(size.equals(0.0), result)
    result = infinity.where(rises, zero).where(size.equals(math.inf), result)
    grows = b.xor(size > 1.0, b.not_(rises))
    limit = size.of(1.0).where(size.equals(1.0), infinity.where(grows, zero))
    return limit.where(y.abs().equals(math.inf), result)


def _power(x: Real, y: Real) -> Real:
    """For positive finite x and finite y."""
    high, low = log2_pair(x)
    made, lost = product(y, high)
    inside = made.clamp(-1100.0, 1100.0)
    n, count = inside.nearest()
    rest = y.fma(low, lost).where(inside.equals(made), 0.0)
    return power_of_two((inside - n) + rest, count)


def rsqrt(x: Real) -> Real:
    """``1 / sqrt(x)``."""
    return 1.0 / x.sqrt()
