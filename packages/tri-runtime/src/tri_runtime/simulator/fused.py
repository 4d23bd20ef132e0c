"""The fused multiply-add of f64 on arrays, rounded once.

The product and the sums are split into what they round to and what that loses (Dekker 1971, Knuth); the last loss is
rounded to odd (Boldo and Melquiond, 2008).  Results that are subnormal, where that would round twice, are computed
one by one in fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["fma_f64"]

Array = npt.NDArray[Any]

_SPLITTER = 2.0**27 + 1


def _halves(x: Array) -> tuple[Array, Array]:
    """``x`` as the sum of two numbers of 26 bits."""
    scaled = x * _SPLITTER
    high = scaled - (scaled - x)
    return high, x - high


def _product(x: Array, y: Array) -> tuple[Array, Array]:
    made = x * y
    (xh, xl), (yh, yl) = _halves(x), _halves(y)
    return made, ((xh * yh - made) + xh * yl + xl * yh) + xl * yl


def _sum(x: Array, y: Array) -> tuple[Array, Array]:
    made = x + y
    part = made - x
    return made, (x - (made - part)) + (y - part)


def _odd_sum(x: Array, y: Array) -> Array:
    """``x + y`` rounded to odd: if inexact, to the neighbour whose last bit is set."""
    total, error = _sum(x, y)
    bits = total.view(np.int64)
    step = np.where((error > 0) == (total > 0), 1, -1)
    made: Array = np.where((error != 0) & (bits & 1 == 0), bits + step, bits).view(np.float64)
    return made


def _exactly(x: float, y: float, z: float) -> float:
    """One by one: for results that fractions hold."""
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    return float(exact) if exact else x * y + z


def fma_f64(x: Array, y: Array, z: Array) -> Array:
    """``x * y + z`` of f64 arrays of one shape, rounded once, infinities and NaN by IEEE 754."""
    with np.errstate(all="ignore"):
        plain = np.asarray(x * y + z)
        (mx, ex), (my, ey) = np.frexp(x), np.frexp(y)
        exponent = (ex + ey).astype(np.int64)
        ahead = np.frexp(z)[1] - exponent
        # far below the product z counts by its sign alone; far above it is the result
        scaled = np.ldexp(z, np.clip(-exponent, -3000, 3000).astype(np.int32))
        scaled = np.where(ahead < -200, np.copysign(2.0**-200, z), np.where(ahead > 200, 0.0, scaled))
        high, low = _product(mx, my)
        inner, inner_low = _sum(scaled, low)
        outer, outer_low = _sum(high, inner)
        total = outer + _odd_sum(inner_low, outer_low)
        made = np.ldexp(total, np.clip(exponent, -3000, 3000).astype(np.int32))
        ordinary = np.isfinite(x) & np.isfinite(y) & np.isfinite(z) & (x != 0) & (y != 0) & (z != 0)
        made = np.where(ordinary & (ahead <= 200), made, np.where(ordinary, z, plain))
        # what cancels is plus zero, and a product that underflows keeps its sign
        made = np.where(ordinary & (total == 0) & (ahead <= 200), 0.0, made)
        made = np.where((z == 0) & (x != 0) & (y != 0), x * y, made)
        # a finite product that overflows does not cancel an infinity
        made = np.where(np.isinf(z) & np.isfinite(x) & np.isfinite(y), z, made)
    small = ordinary & (np.abs(made) < 2.0**-1021) & (total != 0) & (ahead <= 200)
    for i in zip(*np.nonzero(small), strict=True):
        made[i] = _exactly(float(x[i]), float(y[i]), float(z[i]))
    return made
