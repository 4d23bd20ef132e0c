"""Logarithms: ``x = 2**k (1 + f)``, and ``log(1 + f)`` by the series of atanh in ``s = f / (2 + f)``.

The form ``f - (f**2 / 2 - s (f**2 / 2 + ...))`` keeps the large terms exact (P. T. P. Tang, 1990; fdlibm, 1993).
"""

from __future__ import annotations

import math

from tri_gpu_dialect.lowering import math_expansions
from tri_gpu_dialect.lowering.functions import coefficients as c
from tri_gpu_dialect.lowering.functions.real import Pair, Real, constant, fast_sum, product, times, two_sum
from tri_gpu_dialect.lowering.functions.real import polynomial as poly

__all__ = ["log", "log1p", "log2", "log2_pair", "log10", "split"]

#: bits of sqrt(1/2) in f64
_ROOT_HALF = 0x3FE6A09E667F3BCD


def split(x: Real) -> tuple[Real, Real]:
    """k and f of ``x = 2**k (1 + f)``, 1 + f from sqrt(1/2) to sqrt(2), for positive finite x of f64."""
    b = x.b
    tiny = x < 2.0**-1022
    normal = (x * 2.0**54).where(tiny, x)
    shifted = b.sub(normal.bits(), b.const(b.i64, _ROOT_HALF))
    exponent = b.int_cast(b.ashr(shifted, 52), b.i32)
    exponent = b.sub(exponent, b.select(tiny, b.int_(54), b.int_(0)))
    mantissa = b.add(b.and_(shifted, b.const(b.i64, (1 << 52) - 1)), b.const(b.i64, _ROOT_HALF))
    return x.from_integer(exponent), x.from_bits(mantissa) - 1.0


def _special(x: Real, result: Real) -> Real:
    """Logarithms of 0 and infinity, of negative numbers and NaN."""
    result = result.where(x < math.inf, x)
    result = x.of(-math.inf).where(x.equals(0.0), result)
    return x.of(math.nan).where(x < 0.0, result)


def _tail(f: Real, half_square: Real) -> Real:
    """``log(1 + f) - f + f**2 / 2``."""
    s = f / (f + 2.0)
    z = s * s
    return s * z.fma(poly(z, c.LOG), half_square)


def _log(x: Real, correction: Real | None) -> Real:
    k, f = split(x)
    high, low = constant(x, c.LN2)
    half_square = f * f * 0.5
    tail = k.fma(low, _tail(f, half_square))
    if correction is not None:
        tail = tail + correction
    return k.fma(high, f - (half_square - tail))


def log(x: Real) -> Real:
    """The natural logarithm."""
    return _special(x, _log(x, None))


def log1p(x: Real) -> Real:
    """``log(1 + x)``; what rounding 1 + x loses is put back to first order."""
    if x.width == 32:
        return Real(x.b, math_expansions.log1p(x.b, x.value))
    u = x + 1.0
    lost = (1.0 - (u - x)).where(x.abs() > 1.0, x - (u - 1.0))
    result = _special(u, _log(u, lost / u))
    return x.where(x.abs() < 2.0**-54, result)


def _pair(f: Real) -> Pair:
    """``log(1 + f)`` as a pair, good to some 8 bits beyond the format."""
    half = f * 0.5
    half_square, rest = product(f, half)
    high, lost = fast_sum(f, -half_square)
    return fast_sum(high, (lost - rest) + _tail(f, half_square))


def _scaled(x: Real, scale: dict[int, tuple[float, ...]], of_two: Pair) -> Real:
    """A logarithm of another base: ``scale`` times the natural one, ``of_two`` being that of 2."""
    k, f = split(x)
    high, low = times(_pair(f), constant(x, scale))
    whole, whole_low = product(k, of_two[0])
    total, rest = two_sum(whole, high)
    return _special(x, total + (rest + (k.fma(of_two[1], whole_low) + low)))


def log2(x: Real) -> Real:
    """The logarithm to base 2, exact for powers of 2."""
    return _scaled(x, c.LOG2E, (x.of(1.0), x.of(0.0)))


def log10(x: Real) -> Real:
    """The logarithm to base 10."""
    return _scaled(x, c.LOG10E, constant(x, c.LOG10_2))


def log2_pair(x: Real) -> Pair:
    """``log2 x`` as a pair to some 68 bits, for positive finite x.

    ``2 atanh(s)`` with s, z and the terms of s**3 and s**5 as pairs.
    """
    k, f = split(x)
    below, lost = fast_sum(x.of(2.0), f)
    s = f / below
    s_low = ((-s).fma(lost, (-s).fma(below, f))) / below
    square, square_low = product(s, s)
    z = square, (s * 2.0).fma(s_low, square_low)
    tail = z[0] * poly(z[0], c.LOG_TAIL)
    fifth, fifth_low = constant(x, c.FIFTH)
    high, low = fast_sum(fifth, tail)
    q = times(z, (high, low + fifth_low))
    third, third_low = constant(x, c.THIRD)
    high, low = fast_sum(third, q[0])
    q = times(z, (high, low + (third_low + q[1])))
    cube = times((s, s_low), q)
    total, rest = fast_sum(s, cube[0])
    log2e, log2e_low = constant(x, c.LOG2E)
    made = times((total, rest + (s_low + cube[1])), (log2e * 2.0, log2e_low * 2.0))
    high, low = two_sum(k, made[0])
    return fast_sum(high, low + made[1])
