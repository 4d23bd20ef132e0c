"""The error function's relatives and the gamma function, in fp64.

fp32 is computed in fp64 and rounded.  Bounds of error, tested against mpmath: 8 ulp for all but ``lgamma`` below 0
and near its zeros there (absolute 1e-14), and ``tgamma`` (48 ulp).
"""

# mypy: allow-untyped-defs, no-check-untyped-defs, disable-error-code="assignment"

from __future__ import annotations

import math

from tri.jit import jit
from tri.language.constexpr import constexpr
from tri.language.libdevice.coefficients import LGAMMA_AT_2, STIRLING
from tri.language.libdevice.elementary import sinpi
from tri.language.libdevice.ops import copysign, erfc, log1p, pow, trunc
from tri.language.loops import static_range
from tri.language.math import abs, erf, exp, fma, log, sqrt
from tri.language.selection import maximum, where

__all__ = ["erfcinv", "erfcx", "erfinv", "lgamma", "normcdf", "normcdfinv", "tgamma"]

INF = constexpr(float("inf"))
NAN = constexpr(float("nan"))
PI = constexpr(math.pi)
SQRT_PI = constexpr(math.sqrt(math.pi))
HALF_SQRT_2 = constexpr(math.sqrt(0.5))
#: what the double above lacks of sqrt(1/2)
HALF_SQRT_2_REST = constexpr(-4.833646656726457e-17)
HALF_LOG_2_PI = constexpr(0.5 * math.log(2 * math.pi))


@jit
def polynomial(x, coefficients: constexpr):
    """The polynomial with ``coefficients``, highest order first."""
    r = x * 0 + coefficients[0]
    for i in static_range(1, len(coefficients)):
        r = fma(r, x, coefficients[i])
    return r


# --- error functions ------------------------------------------------------------------------------------


@jit
def exp_of_square(x):
    """``exp(x * x)``, the rounding of the square made good."""
    square = fma(x, x, -0.0)
    rest = fma(x, x, -square)
    return exp(square) * (1.0 + rest)


@jit
def erfcx(x):
    """``exp(x**2) * erfc(x)``: the product, and from 12 on the asymptotic series (Abramowitz and Stegun 7.1.23)."""
    far = x > 12.0
    y = where(far, 1.0, x)
    near = exp_of_square(y) * erfc(y)
    z = where(far, x, 12.0)
    q = 0.5 / z / z
    series = x * 0 + 1.0
    for i in static_range(10):
        series = 1.0 - (19 - 2 * i) * q * series
    r = where(far, series / z / SQRT_PI, near)
    r = where(x < -26.7, INF, r)
    return where(x == INF, 0.0, where(x != x, x, r))


@jit
def inverse_tail(q):
    """The y with ``erfc(y) = q``, for q up to 1/2: Halley's steps from the asymptotic value, scaled by exp(y**2)."""
    logarithm = log(q)
    y = sqrt(-logarithm)
    y = sqrt(maximum(-logarithm - log(SQRT_PI * (y + 0.45)), 0.2))
    for _ in static_range(4):
        rest = 0.5 * SQRT_PI * (erfcx(y) - exp(fma(y, y, logarithm)))
        y = y + rest / (1.0 - rest * y)
    return y


@jit
def inverse_center(p):
    """The y with ``erf(y) = p``, for ``|p|`` up to 1/2: Newton's steps, corrected to third order, from the series."""
    z = p * (0.5 * SQRT_PI)
    square = z * z
    y = z * (1.0 + square * (1.0 / 3 + square * (7.0 / 30 + square * (127.0 / 630))))
    for _ in static_range(3):
        rest = (p - erf(y)) * (0.5 * SQRT_PI) * exp(y * y)
        y = y + rest / (1.0 - rest * y)
    return y


@jit
def erfinv(x):
    """The inverse of erf on [-1, 1]."""
    a = abs(x)
    central = a <= 0.5
    tail = inverse_tail(where(central | (a >= 1.0) | (a != a), 0.5, 1.0 - a))
    r = where(central, inverse_center(where(central, x, 0.0)), copysign(tail, x))
    r = where(a == 1.0, copysign(where(x == x, INF, x), x), r)
    return where(a > 1.0, NAN, where(x != x, x, where(x == 0, x, r)))


@jit
def erfcinv(x):
    """The inverse of erfc on [0, 2]."""
    low, high = x < 0.5, x > 1.5
    inside = (x > 0) & (x < 2.0)
    tail = inverse_tail(where(low & inside, x, where(high & inside, 2.0 - x, 0.5)))
    middle = inverse_center(where(low | high | (x != x), 0.0, 1.0 - x))
    r = where(low, tail, where(high, -tail, middle))
    r = where(x == 0, INF, where(x == 2.0, -INF, r))
    return where((x < 0) | (x > 2.0), NAN, where(x != x, x, r))


@jit
def normcdf(x):
    """The distribution function of the standard normal: ``erfc(-x / sqrt(2)) / 2``, the argument's rest made good."""
    y = -x * HALF_SQRT_2
    rest = fma(-x, HALF_SQRT_2, -y) - x * HALF_SQRT_2_REST
    r = 0.5 * erfc(y)
    # the derivative is the density; relative to erfc where that is small, so that nothing underflows early
    big = y > 1.0
    change = where(big, 2.0 / SQRT_PI / erfcx(where(big, y, 1.0)), 0.0)
    return where(big & (abs(x) < INF), r * (1.0 - rest * change), r)


@jit
def normcdfinv(x):
    """The quantiles of the standard normal."""
    r = erfcinv(2.0 * x)
    return -(r / HALF_SQRT_2)


# --- gamma ----------------------------------------------------------------------------------------------


@jit
def shifted(x):
    """Positive ``x`` below 12 as s from -1/2 to 1/2 around 2, and the products that lie between, above and below."""
    above = x * 0 + 1.0
    s = x
    for _ in static_range(10):
        more = s > 2.5
        s = where(more, s - 1.0, s)
        above = where(more, above * s, above)
    return s, above


@jit
def gamma_part(x):
    """gamma of positive ``x`` below 12."""
    s, above = shifted(x)
    below = x * 0 + 1.0
    for _ in static_range(2):
        less = s < 1.5
        below = where(less, below * s, below)
        s = where(less, s + 1.0, s)
    t = s - 2.0
    return exp(t * polynomial(t, LGAMMA_AT_2)) * above / below


@jit
def stirling_rest(x):
    """Error of Stirling's formula, from 12 on."""
    inverse = 1.0 / x
    return inverse * polynomial(inverse * inverse, STIRLING)


@jit
def positive_gamma(x):
    """gamma of positive ``x`` as two factors, neither of which overflows early."""
    far = x >= 12.0
    y = where(far, x, 12.0)
    root = pow(y, 0.5 * y - 0.25)
    rest = exp(stirling_rest(y) - y) * 2.5066282746310002
    near = gamma_part(where(far, 1.0, x))
    return where(far, root, near), where(far, root * rest, 1.0)


@jit
def tgamma(x):
    """The gamma function; NaN at negative integers and -inf, signed infinities at zeros."""
    negative = x < 0.5
    y = where(negative, 1.0 - x, x)
    usable = (abs(y) < 200.0) & (x == x)
    first, second = positive_gamma(where(usable, y, 200.0))
    sine = sinpi(where(usable, x, 0.5))
    r = where(negative, PI / sine / first / second, first * second)
    r = where(x > 171.7, INF, r)
    r = where(x < -190.0, 0.0, r)
    r = where((x < 0) & (x == trunc(x)), NAN, r)
    r = where(x == 0, copysign(where(x == x, INF, x), x), r)
    return where(x != x, x, r)


@jit
def lgamma_near(x):
    """log(gamma(x)) of positive ``x`` below 12, exact to the zeros at 1 and 2."""
    s, above = shifted(x)
    least = s < 0.5
    t = where(least, s, where(s < 1.5, s - 1.0, s - 2.0))
    r = t * polynomial(t, LGAMMA_AT_2)
    r = where(s < 1.5, r - log1p(t), r)
    r = where(least, r - log(s), r)
    return where(above > 1.0, r + log(above), r)


@jit
def positive_lgamma(x):
    """log(gamma(x)) of positive ``x``."""
    far = x >= 12.0
    y = where(far, x, 12.0)
    stirling = (y - 0.5) * (log(y) - 1.0) + (HALF_LOG_2_PI - 0.5 + stirling_rest(y))
    return where(far, stirling, lgamma_near(where(far, 1.0, x)))


@jit
def lgamma(x):
    """``log(|gamma(x)|)``; infinite at 0, negative integers and infinities."""
    negative = x < 0
    a = abs(x)
    r = positive_lgamma(where(a == 0, 1.0, where(a < INF, a, 1.0)))
    sine = abs(sinpi(where(negative, x, 0.5)))
    reflected = log(PI / where(sine == 0, 1.0, sine) / where(negative, a, 1.0)) - r
    r = where(negative, reflected, r)
    r = where((x <= 0) & (x == trunc(x)), INF, r)
    return where(a == INF, INF, where(x != x, x, r))
