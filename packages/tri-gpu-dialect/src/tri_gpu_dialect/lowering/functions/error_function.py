"""The error function and its complement.

Near 0 a polynomial; beyond, erfc is ``exp(-x**2) / (1 + 2 x)`` times a polynomial in ``(x - 4) / (x + 4)`` (the form of
Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x**2) erfc x", 1981).
"""

from __future__ import annotations

from tri_gpu_dialect.lowering.functions import coefficients as c
from tri_gpu_dialect.lowering.functions.exponential import power_of_e
from tri_gpu_dialect.lowering.functions.real import Real, constant, polynomial, product

__all__ = ["erf", "erfc"]

#: beyond it erfc is 0, by format
_END = {32: 10.5, 64: 27.5}


def _near(x: Real) -> Real:
    """erf for ``|x|`` up to 1."""
    high, low = constant(x, c.TWO_OVER_SQRT_PI)
    z = x * x
    return x.fma(z.fma(polynomial(z, c.ERF), low), x * high)


def _far(x: Real) -> Real:
    """erfc for x from 1/2 on; what rounding x**2 loses is put back."""
    x = x.clamp(0.5, _END[x.width])
    square, lost = product(x, x)
    power, count = power_of_e(-square)
    t = (x - 4.0) / (x + 4.0)
    scaled = polynomial(t, c.ERFC) / x.fma(2.0, 1.0)
    made = scaled * power
    return made.fma(-lost, made).scaled(count)


def erf(x: Real) -> Real:
    """The error function."""
    size = x.abs()
    near = _near(x)
    far = (1.0 - _far(size)).with_sign_of(x)
    return near.where(size < 1.0, far).unless_nan(x)


def erfc(x: Real) -> Real:
    """``1 - erf(x)``, as exact where erf is near 1."""
    size = x.abs()
    far = _far(size)
    far = (2.0 - far).where(x.negative(), far)
    return (1.0 - _near(x)).where(size < 0.5, far).unless_nan(x)
