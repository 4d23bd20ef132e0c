"""Elementary functions and the taking apart of floats."""

# mypy: allow-untyped-defs, no-check-untyped-defs, disable-error-code="assignment"

from __future__ import annotations

import math

from tri.jit import jit
from tri.language import types as t
from tri.language.builtin import constexpr_function
from tri.language.constexpr import constexpr
from tri.language.libdevice.conversions import round_away
from tri.language.libdevice.ops import cbrt, copysign, divide_rn, has_type, pow, rint, sqrt_rn
from tri.language.libdevice.parts import biased_exponent, power_of_two
from tri.language.libdevice.rounding import step
from tri.language.loops import static_range
from tri.language.math import abs, cos, exp2, fma, log2, sin
from tri.language.selection import maximum, minimum, where

__all__ = [
    "cospi",
    "exp10",
    "exponent",
    "fast_exp10",
    "fast_pow",
    "fast_tan",
    "fdim",
    "fmod",
    "has_sign",
    "hypot",
    "infinite",
    "is_finite",
    "is_nan",
    "ldexp",
    "logb",
    "nextafter",
    "norm",
    "pow_integer",
    "rcbrt",
    "rcp64h",
    "remainder",
    "round_away",
    "saturate",
    "sinpi",
]  # fmt: skip

INF = constexpr(float("inf"))
PI = constexpr(math.pi)
LOG2_10 = constexpr(math.log2(10.0))


@constexpr_function
def integer_of(dtype: t.dtype) -> t.dtype:
    """The integer of the width of ``dtype``."""
    return t.dtype(f"int{dtype.primitive_bitwidth}")


# --- classes --------------------------------------------------------------------------------------------


@jit
def infinite(x):
    """1 for an infinity, else 0."""
    return (abs(x) == INF).to(t.int32)


@jit
def is_nan(x):
    """1 for NaN, else 0."""
    return (x != x).to(t.int32)


@jit
def is_finite(x):
    """1 for a number, else 0."""
    return (abs(x) < INF).to(t.int32)


@jit
def has_sign(x):
    """1 where the sign bit is set, also of -0 and NaN."""
    return (x.to(integer_of(x.dtype), bitcast=True) < 0).to(t.int32)


# --- neighbours, exponents ------------------------------------------------------------------------------


@jit
def nextafter(x, y):
    """The neighbour of ``x`` on the way to ``y``; ``y`` when they are equal."""
    return where((x != x) | (y != y), x + y, where(x == y, y, step(x, y > x)))


@jit
def exponent(x):
    """The exponent of 2 as int32: -2**31 for 0 and NaN, 2**31 - 1 for an infinity."""
    if has_type(t.float64):
        wide = x.to(t.float64)
        tiny = abs(wide) < 2.0**-1022
        bits = where(tiny, wide * 2.0**54, wide).to(t.int64, bitcast=True)
        e = ((bits >> 52) & 0x7FF).to(t.int32) - where(tiny, 1077, 1023)
    else:
        e, bits = biased_exponent(x)
    e = where(abs(x) == INF, 2147483647, e)
    return where((x == 0) | (x != x), -2147483648, e)


@jit
def logb(x):
    """The exponent of 2 as a float: -inf for 0, inf for an infinity."""
    e = exponent(x).to(x.dtype)
    return where(x == 0, -INF, where(abs(x) < INF, e, x * x)).to(x.dtype)


@constexpr_function
def exponents(dtype: t.dtype) -> tuple[int, int]:
    """The largest exponent of ``dtype``, and by how much is scaled down so that no bit of a result is lost."""
    return (1023, 969) if dtype == t.float64 else (127, 102)


@jit
def ldexp(x, n):
    """``x * 2**n``, rounded once: what is scaled down far keeps all bits until the last product."""
    y = x.to(t.float64) if has_type(t.float64) else x
    bounds: constexpr = exponents(y.dtype)
    largest: constexpr = bounds[0]
    down: constexpr = bounds[1]
    if x.dtype == y.dtype:
        for _ in static_range(2):
            y = where(n > largest, y * 2.0**largest, where(n < 1 - largest, y * 2.0**-down, y))
            n = where(n > largest, n - largest, where(n < 1 - largest, n + down, n))
    return (y * power_of_two(minimum(maximum(n, 1 - largest), largest), y.dtype)).to(x.dtype)


# --- remainders -----------------------------------------------------------------------------------------


@jit
def fmod(x, y):
    """The remainder of the division rounded to zero, with the sign of ``x``."""
    r = x % y
    return where((abs(y) == INF) & (abs(x) < INF), x, where(r == 0, copysign(r, x), r))


@jit
def remainder(x, y):
    """The remainder of the division rounded to nearest even, exact."""
    a, d = abs(x), abs(y)
    small = d < 2.0**120 if x.dtype == t.float32 else d < 2.0**1000
    a = where(small, a % where(small, d + d, d), a)
    # compared by sums below, by halves above: neither loses a bit
    half = 0.5 * d
    past = where(small, a + a > d, a > half)
    a = where(past, a - d, a)
    again = where(small, a + a >= d, a >= half)
    a = where(past & again, a - d, a)
    r = where(has_sign(x) != 0, -a, a)
    r = where((abs(y) == INF) & (abs(x) < INF), x, r)
    return where((x != x) | (y != y) | (abs(x) == INF) | (y == 0), (x * 0) / (y * 0), r)


@jit
def fdim(x, y):
    """``x - y`` where that is positive, else 0."""
    return where((x != x) | (y != y), x + y, where(x > y, x - y, 0.0)).to(x.dtype)


@jit
def saturate(x):
    """``x`` between 0 and 1; 0 for NaN."""
    return where(x > 0, where(x < 1, x, 1.0), 0.0).to(x.dtype)


# --- powers, roots, lengths -----------------------------------------------------------------------------


@jit
def exp10(x):
    """``10**x``."""
    return pow(where(x == x, 10.0, x), x)


@jit
def pow_integer(x, n):
    """``x**n`` of int32 ``n``."""
    return pow(x, n.to(x.dtype))


@jit
def rcbrt(x):
    """``1 / cbrt(x)``."""
    return 1.0 / cbrt(x)


@jit
def rcp64h(x):
    """``1 / x`` of fp64 with the low 32 bits zero: 20 bits of fraction."""
    bits = divide_rn(where(x == x, 1.0, x), x).to(t.int64, bitcast=True)
    return ((bits >> 32) << 32).to(t.float64, bitcast=True)


@jit
def norm(w, x, y, z, inverse: constexpr):
    """The length of (w, x, y, z), or 1 over it: scaled by a power of two, so that no square overflows."""
    largest = maximum(maximum(abs(w), abs(x)), maximum(abs(y), abs(z)))
    e = minimum(maximum(exponent(largest), -1000), 1000)
    down = power_of_two(-e, t.float64)
    a, b, c, d = w * down, x * down, y * down, z * down
    length = sqrt_rn(fma(a, a, fma(b, b, fma(c, c, d * d))))
    infinite_part = (abs(w) == INF) | (abs(x) == INF) | (abs(y) == INF) | (abs(z) == INF)
    r = divide_rn(down, length) if inverse else length * power_of_two(e, t.float64)
    r = where(largest == 0, INF if inverse else 0.0, r)
    return where(infinite_part, 0.0 if inverse else INF, r)


@jit
def hypot(x, y, inverse: constexpr):
    """The length of (x, y), or 1 over it."""
    zero = where(x == x, 0.0, 0.0).to(x.dtype)
    return norm(x, y, zero, zero, inverse)


# --- multiples of pi ------------------------------------------------------------------------------------


@jit
def quarters(x):
    """``x`` as a number of quarter turns 0 to 3 and a rest of at most an eighth turn, as radians."""
    y = x - 2.0 * rint(x * 0.5)  # exact: the period is 2
    n = rint(y * 2.0)
    return n.to(t.int32) & 3, fma(n, -0.5, y) * PI


@jit
def sinpi(x):
    """``sin(pi * x)``; zeros at integers are exact."""
    n, rest = quarters(where(abs(x) < INF, x, 0.0))
    r = where((n & 1) != 0, cos(rest), sin(rest))
    r = where((n & 2) != 0, -r, r)
    r = where(x == rint(x), copysign(x * 0, x), r)
    return where(abs(x) < INF, r, x - x)


@jit
def cospi(x):
    """``cos(pi * x)``; zeros at halves are exact."""
    n, rest = quarters(where(abs(x) < INF, x, 0.0))
    r = where((n & 1) != 0, -sin(rest), cos(rest))
    r = where((n & 2) != 0, -r, r)
    r = where(((n & 1) != 0) & (rest == 0), 0.0, r)
    return where(abs(x) < INF, r, x - x)


@jit
def fast_pow(x, y):
    """``2**(y * log2(x))``."""
    return exp2(y * log2(x))


@jit
def fast_tan(x):
    """``sin(x) / cos(x)``."""
    return sin(x) / cos(x)


@jit
def fast_exp10(x):
    """``2**(x * log2(10))``."""
    return exp2(x * LOG2_10)


@jit
def norm3(x, y, z, inverse: constexpr):
    """The length of (x, y, z), or 1 over it."""
    return norm(x, y, z, where(x == x, 0.0, 0.0).to(x.dtype), inverse)


@jit
def rsqrt_rn(x):
    """``1 / sqrt(x)`` of fp32, rounded to nearest: of the fp64 quotient, whose error is far below half an ulp.

    Of all fp32 numbers none has a reciprocal root so close to the middle of two others that fp64 could not tell
    (an exact test needs 3 * 24 + 1 bits only for roots; the nearest miss of fp32 is 2**-50).
    """
    if has_type(t.float64):
        wide = x.to(t.float64)
        r = divide_rn(where(wide == wide, 1.0, wide), sqrt_rn(wide)).to(t.float32)
    else:
        r = rsqrt_by_integers(x)
    return r


@jit
def reaches_one(x, middle):
    """True if ``x * middle**2 >= 2**73`` of int64 ``x`` below 2**25 and ``middle`` below 2**26."""
    square = middle * middle
    return x * (square >> 32) + ((x * (square & 0xFFFFFFFF)) >> 32) >= 1 << 41


@jit
def rsqrt_by_integers(x):
    """``1 / sqrt(x)`` of fp32, rounded to nearest without fp64.

    ``x`` is scaled to lie between 1 and 4.  The quotient of fp32 is at most one place off, and whether the result lies
    beyond the middle between two places is decided by integers: ``x`` times the square of the middle reaches 1 or not.
    """
    exponent, bits = biased_exponent(x)
    half = exponent >> 1
    whole = ((bits & 0x7FFFFF) | 0x800000).to(t.int64) << (exponent & 1)  # of the scaled x, times 2**23
    near = divide_rn(where(x == x, 1.0, x), sqrt_rn(whole.to(t.float32) * 2.0**-23))
    place = (near * 2.0**24).to(t.int64)
    place += where(reaches_one(whole, 2 * place + 1), 0, 1)
    place -= where(reaches_one(whole, 2 * place - 1), 1, 0)
    found = place.to(t.float32) * 2.0**-24 * power_of_two(-half, t.float32)
    ordinary = (x > 0) & (x < INF)
    return where(ordinary, found, divide_rn(where(x == x, 1.0, x), sqrt_rn(x)))
