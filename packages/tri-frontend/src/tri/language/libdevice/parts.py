"""Exponent and significand of floats, and exact signs of what fp32 alone cannot hold."""

# mypy: allow-untyped-defs, no-check-untyped-defs, disable-error-code="assignment"

from __future__ import annotations

from tri.jit import jit
from tri.language import types as t
from tri.language.math import abs, fma
from tri.language.selection import maximum, minimum, where

__all__ = [
    "biased_exponent",
    "power_of_two",
    "product",
    "rest_of_fused",
    "sign_of",
    "significand",
    "sum_rest",
]


@jit
def sign_of(x):
    """-1, 0 or 1; 0 for NaN."""
    return where(x > 0, 1.0, where(x < 0, -1.0, 0.0)).to(x.dtype)


@jit
def sum_rest(x, y, s):
    """Rounding error of ``s = x + y``."""
    z = s - x
    return (x - (s - z)) + (y - z)


@jit
def product(x, y):
    """``x * y``, never fused with what follows."""
    return fma(x, y, -0.0)


@jit
def power_of_two(n, dtype):
    """2**n of int32 ``n``, whose exponent ``dtype`` has: -126 to 127 of fp32, -1022 to 1023 of fp64."""
    if dtype == t.float64:
        r = ((n + 1023).to(t.int64) << 52).to(t.float64, bitcast=True)
    else:
        r = ((n + 127) << 23).to(t.float32, bitcast=True)
    return r


@jit
def biased_exponent(x):
    """Exponent of the finite fp32 ``x`` as int32, and the bits of ``x``, scaled by 2**24 where it is subnormal."""
    tiny = abs(x) < 2.0**-126
    bits = where(tiny, x * 2.0**24, x).to(t.int32, bitcast=True)
    return ((bits >> 23) & 255) - where(tiny, 151, 127), bits


@jit
def significand(x):
    """The finite fp32 ``x`` as a number of its sign from 1 to 2, and the power of two that it is multiplied by.

    Of 0 the exponent is -151; the significand has to be replaced.
    """
    exponent, bits = biased_exponent(x)
    return ((bits & -0x7F800001) | 0x3F800000).to(t.float32, bitcast=True), exponent


@jit
def scaled(x, significand, exponent):
    """``significand * 2**exponent``, and 0 where ``x`` is."""
    return where(x == 0, 0.0, significand * power_of_two(minimum(maximum(exponent, -126), 127), t.float32))


@jit
def rest_of_fused(x, y, z, nearest):
    """A number with the sign of ``x * y + z - nearest``, all fp32 and finite, ``nearest`` being the fp32 nearest to the sum.

    All are scaled by one power of two, so that the product lies between 1 and 4; then it is the sum of two floats, and
    their expansion grows by the addend and by ``-nearest`` (Shewchuk, Discrete & Computational Geometry 18, 1997,
    Grow-Expansion).  Of an addend below 2**-60 only the sign counts; one above 2**127 is the result itself, and both
    are cut alike.
    """
    a, exponent_a = significand(x)
    b, exponent_b = significand(y)
    c, exponent_c = significand(z)
    n, exponent_n = significand(nearest)
    unit = exponent_a + exponent_b
    distance = where(z == 0, 0, exponent_c - unit)
    addend = scaled(z, c, maximum(distance, -60))
    result = scaled(nearest, n, exponent_n - unit)
    u1 = product(a, b)
    u2 = fma(a, b, -u1)
    s1 = u2 + addend
    e1 = sum_rest(u2, addend, s1)
    e3 = u1 + s1
    e2 = sum_rest(u1, s1, e3)
    t1 = e1 - result
    g0 = sum_rest(e1, -result, t1)
    t2 = e2 + t1
    g1 = sum_rest(e2, t1, t2)
    g3 = e3 + t2
    g2 = sum_rest(e3, t2, g3)
    rest = where(g3 != 0, g3, where(g2 != 0, g2, where(g1 != 0, g1, g0)))
    return where((x == 0) | (y == 0), 0.0, rest)
