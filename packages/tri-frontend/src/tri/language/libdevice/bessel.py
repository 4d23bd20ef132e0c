"""Bessel functions in fp64: recurrences that are stable in their direction, and Hankel's expansion far out.

fp32 is computed in fp64 and rounded.  Bounds of error, tested against mpmath: absolute 4e-15 for orders 0 and 1 up
to 1e4 (relative where the function is larger than 1), 1e-13 for other orders; ``cyl_bessel_i0`` and ``i1`` 8 ulp.
Sources: Abramowitz and Stegun 9.1.10, 9.1.11, 9.1.88 (series), 9.2.5 to 9.2.10 (Hankel), 9.12 (recurrence).
"""

# mypy: allow-untyped-defs, no-check-untyped-defs, disable-error-code="assignment"

from __future__ import annotations

import math
from collections.abc import Sequence

from tri.jit import jit
from tri.language import types as t
from tri.language.builtin import constexpr_function
from tri.language.constexpr import constexpr
from tri.language.libdevice.ops import pow
from tri.language.libdevice.special import tgamma
from tri.language.loops import static_range
from tri.language.math import abs, cos, exp, fma, log, sin, sqrt
from tri.language.selection import maximum, minimum, where
from tri.language.standard import max as largest

__all__ = ["i0", "i1", "j0", "j1", "jn", "y0", "y1", "yn"]

INF = constexpr(float("inf"))
NAN = constexpr(float("nan"))
#: from where Hankel's expansion holds to the last bit
FAR = constexpr(25.0)
#: the order that the backward recurrence starts from below FAR
START = constexpr(70)
EULER = constexpr(0.5772156649015329)
TWO_OVER_PI = constexpr(2 / math.pi)


# --- coefficients ---------------------------------------------------------------------------------------


@constexpr_function
def is_scalar(shape: Sequence[int]) -> bool:
    """True if ``shape`` is that of a scalar."""
    return not shape


@constexpr_function
def hankel(order: int, odd: bool) -> list[float]:
    """Coefficients of P (even) or Q (odd) in powers of 1/x**2, highest first."""
    a = [1.0]
    for k in range(1, 22):
        a.append(a[-1] * (4 * order * order - (2 * k - 1) ** 2) / (8 * k))
    return [(-1) ** i * c for i, c in enumerate(a[1::2] if odd else a[::2])][::-1]


@constexpr_function
def asymptotic(order: int) -> list[float]:
    """Coefficients of I times exp(-x) sqrt(2 pi x) in powers of 1/x, highest first."""
    a = [1.0]
    for k in range(1, 25):
        a.append(-a[-1] * (4 * order * order - (2 * k - 1) ** 2) / (8 * k))
    return a[::-1]


@constexpr_function
def ascending(order: int, terms: int, sign: int) -> list[float]:
    """Coefficients of (x/2)**-order J (sign -1) or I (1) in powers of x**2/4, highest first."""
    return [sign**k / (math.factorial(k) * math.factorial(k + order)) for k in range(terms)][::-1]


@constexpr_function
def harmonic(order: int, terms: int) -> list[float]:
    """Coefficients of the part of Y without a logarithm, in powers of x**2/4, highest first."""
    sums = [math.fsum(1 / i for i in range(1, k + 1)) for k in range(terms + 1)]
    return [
        (-1) ** k * (sums[k] + sums[k + order]) / (math.factorial(k) * math.factorial(k + order))
        for k in range(terms)
    ][::-1]


@jit
def polynomial(x, coefficients: constexpr):
    """The polynomial with ``coefficients``, highest order first."""
    r = x * 0 + coefficients[0]
    for i in static_range(1, len(coefficients)):
        r = fma(r, x, coefficients[i])
    return r


# --- orders 0 and 1, of positive arguments ----------------------------------------------------------------


@jit
def near(x):
    """J0, J1, Y0, Y1 below 2: the ascending series."""
    square, half = 0.25 * x * x, 0.5 * x
    jzero = polynomial(square, ascending(0, 14, -1))
    jone = half * polynomial(square, ascending(1, 14, -1))
    logarithm = log(half) + EULER
    yzero = TWO_OVER_PI * logarithm * jzero - (0.5 * TWO_OVER_PI) * polynomial(square, harmonic(0, 14))
    yone = TWO_OVER_PI * (logarithm * jone - 1.0 / x) - (0.5 * TWO_OVER_PI) * half * polynomial(
        square, harmonic(1, 14)
    )
    return jzero, jone, yzero, yone


@jit
def middle(x):
    """J0, J1, Y0, Y1 from 2 to FAR: Miller's backward recurrence, Neumann's series for Y."""
    turn = 2.0 / x
    above, here = x * 0, x * 0 + 1e-290
    total, even, odd = x * 0, x * 0, x * 0
    for i in static_range(0, START - 1):
        n: constexpr = START - i
        # `here` is proportional to J of order n
        if n % 2 == 0:
            total = total + here
            even = even + (-1 if n // 2 % 2 else 1) * here / (n // 2)
        else:
            k: constexpr = n // 2
            if k > 0:
                odd = odd + (-1 if k % 2 else 1) * n * here / (k * (k + 1))
        above, here = here, fma(n * turn, here, -above)
    one = here
    zero = fma(turn, one, -above)
    scale = 1.0 / (zero + 2.0 * total)
    jzero, jone = zero * scale, one * scale
    logarithm = log(0.5 * x) + EULER
    yzero = TWO_OVER_PI * (logarithm * jzero - 2.0 * (even * scale))
    yone = TWO_OVER_PI * ((logarithm - 1.0) * jone - 1.0 / x * jzero - odd * scale)
    return jzero, jone, yzero, yone


@jit
def far(x):
    """J0, J1, Y0, Y1 from FAR on: Hankel's expansion."""
    inverse = 1.0 / x
    square = inverse * inverse
    s, c = sin(x), cos(x)
    length = sqrt(0.5 * TWO_OVER_PI * inverse)
    p, q = polynomial(square, hankel(0, False)), inverse * polynomial(square, hankel(0, True))
    jzero, yzero = length * (p * (c + s) - q * (s - c)), length * (p * (s - c) + q * (c + s))
    p, q = polynomial(square, hankel(1, False)), inverse * polynomial(square, hankel(1, True))
    jone, yone = length * (p * (s - c) + q * (c + s)), length * (q * (s - c) - p * (c + s))
    return jzero, jone, yzero, yone


@jit
def orders(x):
    """J0, J1, Y0, Y1 of positive ``x``."""
    a, b, c, d = near(minimum(x, 2.0))
    e, f, g, h = middle(minimum(maximum(x, 2.0), FAR))
    i, j, k, m = far(where(x < INF, maximum(x, FAR), FAR))
    low, mid = x < 2.0, x < FAR
    jzero, jone = where(low, a, where(mid, e, i)), where(low, b, where(mid, f, j))
    yzero, yone = where(low, c, where(mid, g, k)), where(low, d, where(mid, h, m))
    end = x == INF
    return where(end, 0.0, jzero), where(end, 0.0, jone), where(end, 0.0, yzero), where(end, 0.0, yone)


@jit
def j0(x):
    """The Bessel function of the first kind of order 0."""
    return where(x != x, x, orders(abs(x))[0])


@jit
def j1(x):
    """The Bessel function of the first kind of order 1."""
    r = orders(abs(x))[1]
    return where(x != x, x, where(x < 0, -r, r))


@jit
def second_kind(x, value):
    """``value``, but -inf at 0 and NaN below."""
    return where(x == 0, -INF, where((x < 0) | (x != x), NAN, value))


@jit
def y0(x):
    """The Bessel function of the second kind of order 0."""
    return second_kind(x, orders(where(x > 0, x, 1.0))[2])


@jit
def y1(x):
    """The Bessel function of the second kind of order 1."""
    return second_kind(x, orders(where(x > 0, x, 1.0))[3])


# --- other orders ---------------------------------------------------------------------------------------


@jit
def bound_of(n):
    """The largest of int32 ``n``, as a scalar."""
    return n if is_scalar(n.shape) else largest(n)


@jit
def forward(n, x, first, second):
    """The recurrence upwards from orders 0 and 1: order ``n``."""
    r = where(n == 0, first, second)
    turn = 2.0 / x
    low, here = first, second
    for k in range(1, bound_of(n)):
        low, here = here, fma(k.to(t.float64) * turn, here, -low)
        r = where(n == k + 1, here, r)
    return r


@jit
def backward(n, x):
    """J of order ``n``, above ``x``: Miller's recurrence from far above, kept within bounds by powers of two."""
    turn = 2.0 / x
    top = bound_of(n) + 40 + sqrt(40.0 * bound_of(n).to(t.float32)).to(t.int32)
    top = top + (top & 1)
    above, here = x * 0, x * 0 + 1e-200
    total, r = x * 0, x * 0
    for i in range(top):
        order = top - i
        r = where(n == order, here, r)
        total = total + where((order & 1) == 0, here, 0.0)
        above, here = here, fma(order.to(t.float64) * turn, here, -above)
        scale = where(abs(here) > 2.0**400, 2.0**-600, 1.0)
        above, here, total, r = above * scale, here * scale, total * scale, r * scale
    r = where(n == 0, here, r)
    return r / (here + 2.0 * total)


@jit
def jn(n, x):
    """The Bessel function of the first kind of int32 order ``n``; NaN for negative orders."""
    a = abs(x)
    usable = (a > 0) & (a < INF)
    y = where(usable, a, 1.0)
    order = maximum(n, 0)
    zero, one, _, _ = orders(y)
    above = order.to(t.float64) > y
    up = forward(where(above, 0, order), where(above, 1e6, y), zero, one)
    small = y < 1e-8  # the first term of the series
    down = backward(where(above, order, 0), where(above & (y >= 1e-8), y, 1.0))
    wide = order.to(t.float64)
    down = where(small, pow(0.5 * y, wide) / tgamma(wide + 1.0), down)
    r = where(above, down, up)
    r = where((x < 0) & ((n & 1) != 0), -r, r)
    r = where(a == INF, 0.0, where(a == 0, where(n == 0, 1.0, 0.0), r))
    return where(n < 0, NAN, where(x != x, x, r))


@jit
def yn(n, x):
    """The Bessel function of the second kind of int32 order ``n``; NaN for negative orders."""
    usable = (x > 0) & (x < INF)
    y = where(usable, x, 1.0)
    _, _, zero, one = orders(y)
    order = maximum(n, 0)
    r = forward(order, y, zero, one)
    r = where(r != r, -INF, r)
    r = where(x == INF, 0.0, second_kind(x, r))
    return where(n < 0, NAN, r)


# --- modified functions ---------------------------------------------------------------------------------


@jit
def modified(a, order: constexpr):
    """I of positive ``a``: the ascending series to 20, from there the asymptotic one times exp, in two halves."""
    low = minimum(a, 20.0)
    square = 0.25 * low * low
    series = polynomial(square, ascending(order, 52, 1))
    if order == 1:
        series = series * (0.5 * low)
    high = where(a < INF, maximum(a, 20.0), 20.0)
    half = exp(0.5 * high)
    tail = half * (polynomial(1.0 / high, asymptotic(order)) / sqrt(high) * 0.3989422804014327) * half
    return where(a == INF, INF, where(a < 20.0, series, tail))


@jit
def i0(x):
    """The modified Bessel function of order 0."""
    return where(x != x, x, modified(abs(x), 0))


@jit
def i1(x):
    """The modified Bessel function of order 1."""
    r = modified(abs(x), 1)
    return where(x != x, x, where(x < 0, -r, r))
