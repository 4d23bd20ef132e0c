"""Arithmetic with a rounding mode, exactly rounded, on targets that round to nearest.

Each function computes the result rounded to nearest and the sign of what rounding left out, and moves to the
neighbour when that lies on the wanted side.  fp32 is computed in fp64, where products are exact; fp64, and fp32 where
the target has no fp64, by error-free transformations (Dekker, Knuth; ErrFma of Boldo and Muller, IEEE Transactions
on Computers 60, 2011), scaled where a remainder would underflow.  Modes: ``rn``, ``rz`` (to zero), ``rd`` (down), ``ru`` (up).
"""

# mypy: allow-untyped-defs, no-check-untyped-defs, disable-error-code="assignment"

from __future__ import annotations

from tri.jit import jit
from tri.language import types as t
from tri.language.builtin import constexpr_function
from tri.language.constexpr import constexpr
from tri.language.libdevice.ops import copysign, divide_rn, has_type, sqrt_rn
from tri.language.libdevice.parts import product, rest_of_fused, sign_of, sum_rest
from tri.language.math import abs, fma
from tri.language.selection import where

__all__ = ["add", "divide", "fused", "multiply", "narrow", "reciprocal", "root", "step", "subtract"]

INF = constexpr(float("inf"))
#: below it remainders of fp64 may underflow; a scale that brings them back, and its inverse
TINY = constexpr(2.0**-900)
UP = constexpr(2.0**600)
DOWN = constexpr(2.0**-600)


@constexpr_function
def tiny_of(dtype: t.dtype) -> float:
    """Below it remainders of ``dtype`` may underflow."""
    return 2.0**-900 if dtype == t.float64 else 2.0**-100


@constexpr_function
def scale_of(dtype: t.dtype) -> float:
    """A scale that brings such remainders back; its root is a power of two."""
    return 2.0**600 if dtype == t.float64 else 2.0**76


@constexpr_function
def divisor_of(dtype: t.dtype) -> float:
    """Larger divisors must not be scaled; the quotient of a tiny number by them is 0."""
    return 2.0**400 if dtype == t.float64 else 2.0**50


@constexpr_function
def root_of_scale(dtype: t.dtype) -> float:
    """The square root of :func:`scale_of`."""
    return 2.0**300 if dtype == t.float64 else 2.0**38


@constexpr_function
def bits_of_float(dtype: t.dtype) -> t.dtype:
    """The integer of the width of ``dtype``."""
    return t.dtype(f"int{dtype.primitive_bitwidth}")


@jit
def step(x, upwards):
    """The neighbour of ``x`` (not NaN) above where ``upwards``, else below; an infinity in its direction stays."""
    bits = x.to(bits_of_float(x.dtype), bitcast=True)
    moved = where((bits >= 0) == upwards, bits + 1, bits - 1).to(x.dtype, bitcast=True)
    smallest = (bits * 0 + 1).to(x.dtype, bitcast=True)
    end = (abs(x) == INF) & ((x > 0) == upwards)
    return where(x == 0, where(upwards, smallest, -smallest), where(end, x, moved))


@jit
def directed(nearest, rest, mode: constexpr):
    """Directed rounding of ``nearest + rest``, ``rest`` being any number with the sign of the rounding error."""
    if mode == "rn":
        r = nearest
    elif mode == "rd":
        r = where(rest < 0, step(nearest, nearest != nearest), nearest)
    elif mode == "ru":
        r = where(rest > 0, step(nearest, nearest == nearest), nearest)
    else:
        inwards = ((nearest > 0) & (rest < 0)) | ((nearest < 0) & (rest > 0))
        r = where(inwards, step(nearest, nearest < 0), nearest)
    return r


@jit
def narrow(x, mode: constexpr, rest=0.0):
    """``x + rest`` of fp64 as fp32, ``rest`` being less than what ``x`` can hold."""
    nearest = x.to(t.float32)
    back = nearest.to(t.float64)
    left = where(back > x, -1.0, where(back < x, 1.0, sign_of(x * 0 + rest))).to(t.float32)
    return directed(nearest, left, mode)


@jit
def overflowed(nearest, rest, finite):
    """``rest``, corrected where finite operands gave an infinity."""
    return where((abs(nearest) == INF) & finite, -sign_of(nearest), rest)


@jit
def is_finite(x):
    """True if ``x`` is neither infinite nor NaN."""
    return abs(x) < INF


@jit
def zero_sign(x, y, s, mode: constexpr):
    """A sum that is exactly zero is -0 when rounded down, unless both are +0."""
    if mode == "rd":
        positive = (copysign(x * 0 + 1, x) > 0) & (copysign(y * 0 + 1, y) > 0)
        r = where((s == 0) & (x == -y) & (positive == 0), -0.0, s).to(s.dtype)
    else:
        r = s
    return r


@jit
def add(x, y, mode: constexpr):
    """``x + y``."""
    if x.dtype == t.float32 and has_type(t.float64):
        a, b = x.to(t.float64), y.to(t.float64)
        s = a + b
        r = narrow(s, mode, where(is_finite(s), sum_rest(a, b, s), 0.0))
    else:
        s = (
            x + y if x.dtype == t.float64 else fma(x, 1.0, y)
        )  # of a product in x or y nothing is fused with it
        # in this order no difference overflows where the sum does not, not even beside the largest number
        swap = abs(x) < abs(y)
        rest = where(is_finite(s), sum_rest(where(swap, y, x), where(swap, x, y), s), 0.0)
        r = directed(s, overflowed(s, rest, is_finite(x) & is_finite(y)), mode)
    return zero_sign(x, y, r, mode)


@jit
def subtract(x, y, mode: constexpr):
    """``x - y``."""
    return add(x, -y, mode)


@jit
def multiply(x, y, mode: constexpr):
    """``x * y``."""
    if x.dtype == t.float32 and has_type(t.float64):
        r = narrow(x.to(t.float64) * y.to(t.float64), mode)
    else:
        p = x * y if x.dtype == t.float64 else product(x, y)
        up: constexpr = scale_of(x.dtype)
        swap = abs(x) > abs(y)
        small, large = where(swap, y, x), where(swap, x, y)
        low = abs(p) < tiny_of(x.dtype)
        # two small factors then: both take the scale
        rest = fma(where(low, small * up, small), where(low, large * up, large), where(low, -p * up * up, -p))
        rest = where(is_finite(rest), rest, 0.0)
        r = directed(p, overflowed(p, rest, is_finite(x) & is_finite(y)), mode)
    return r


@jit
def divide(x, y, mode: constexpr):
    """``x / y``."""
    if x.dtype == t.float32 and has_type(t.float64):
        a, b = x.to(t.float64), y.to(t.float64)
        q = divide_rn(a, b)
        rest = fma(-q, b, a) * sign_of(b)
        r = narrow(q, mode, where(is_finite(rest), rest, 0.0)) if mode != "rn" else divide_rn(x, y)
    else:
        q = divide_rn(x, y)
        up: constexpr = scale_of(x.dtype)
        low = (abs(x) < tiny_of(x.dtype)) & (abs(y) < divisor_of(x.dtype))
        rest = fma(-q, where(low, y * up, y), where(low, x * up, x)) * sign_of(y)
        rest = where(is_finite(rest), rest, 0.0)
        r = directed(q, overflowed(q, rest, is_finite(x) & is_finite(y) & (y != 0)), mode)
    return r


@jit
def reciprocal(x, mode: constexpr):
    """``1 / x``."""
    return divide(where(x == x, 1.0, x), x, mode)


@jit
def root(x, mode: constexpr):
    """The square root."""
    if x.dtype == t.float32 and has_type(t.float64):
        a = x.to(t.float64)
        q = sqrt_rn(a)
        rest = fma(-q, q, a)
        r = narrow(q, mode, where(is_finite(rest), rest, 0.0)) if mode != "rn" else sqrt_rn(x)
    else:
        q = sqrt_rn(x)
        up: constexpr = scale_of(x.dtype)
        low = x < tiny_of(x.dtype)
        scaled = where(low, q * root_of_scale(x.dtype), q)
        rest = fma(-scaled, scaled, where(low, x * up, x))
        r = directed(q, where(is_finite(rest), rest, 0.0), mode)
    return r


@jit
def fused(x, y, z, mode: constexpr):
    """``x * y + z``."""
    nearest = fma(x, y, z)
    if mode == "rn":
        r = nearest
    elif x.dtype == t.float32 and has_type(t.float64):
        p, c = product(x.to(t.float64), y.to(t.float64)), z.to(t.float64)
        s = p + c
        r = narrow(s, mode, where(is_finite(s), sum_rest(p, c, s), 0.0))
        r = where((s == 0) & (p == -c), zero_sign(p, c, s, mode).to(t.float32), r)
    else:
        finite = is_finite(x) & is_finite(y) & is_finite(z)
        exact = fused_rest(x, y, z, nearest) if x.dtype == t.float64 else rest_of_fused(x, y, z, nearest)
        rest = where(finite, exact, 0.0)
        r = directed(nearest, overflowed(nearest, rest, finite), mode)
        r = where(rest == 0, zero_sign(product(x, y), z, r, mode), r)
    return r


@jit
def fused_rest(x, y, z, nearest):
    """A number with the sign of what ``nearest``, the fp64 nearest to ``x * y + z``, left out."""
    swap = abs(x) > abs(y)
    small, large = where(swap, y, x), where(swap, x, y)
    p = product(x, y)
    low = (abs(p) < TINY) & (abs(z) < 2.0**-800)
    high = (abs(p) > 2.0**1000) | (abs(z) > 2.0**1000)
    scale = where(low, UP, where(high, DOWN, 1.0))
    # one factor takes the scale: the smaller going up, the larger going down
    a, b = where(low, small * UP, small), where(high, large * DOWN, large)
    # an addend too small to be scaled down, or a product lost beside a large addend, matters by its sign alone
    c = where(high & (abs(z) < 2.0**-400), sign_of(z) * 2.0**-1000, z * scale)
    lost = (abs(product(a, b)) < TINY) & (x != 0) & (y != 0)
    a = where(lost, sign_of(x) * 2.0**-450, a)
    b = where(lost, sign_of(y) * 2.0**-450, b)
    r1 = nearest * scale
    u1 = product(a, b)
    u2 = fma(a, b, -u1)
    alpha1 = c + u2
    alpha2 = sum_rest(c, u2, alpha1)
    beta1 = u1 + alpha1
    beta2 = sum_rest(u1, alpha1, beta1)
    gamma = (beta1 - r1) + beta2
    rest = gamma + alpha2
    return where(rest == rest, rest, 0.0)
