"""Arc functions of f32 and f64.

asin and acos: a polynomial up to 1/2, the half-angle formula beyond; atan: one step with tan(pi / 8) (both as in Hart
et al., "Computer Approximations", 1968).
"""

from __future__ import annotations

import math

from tri_core.mlir import ir
from tri_gpu_dialect.lowering.functions import coefficients as c
from tri_gpu_dialect.lowering.functions.real import Real, constant, polynomial, product

__all__ = ["acos", "asin", "atan", "atan2"]


def _arc(x: Real) -> tuple[Real, Real, Real, ir.Value]:
    """s and ``asin(s) - s`` for s of |x| or, beyond 1/2, of half its complement; what sqrt lost of s; whether |x| is small."""
    size = x.abs()
    small = size <= 0.5
    z = (size * size).where(small, (1.0 - size) * 0.5)
    root = z.sqrt()
    s = size.where(small, root)
    lost = (-root).fma(root, z) / (root + root)
    lost = x.of(0.0).where(x.b.or_(small, z.equals(0.0)), lost)
    return s, s * z * polynomial(z, c.ASIN), lost, small


def asin(x: Real) -> Real:
    """The arc sine; NaN beyond 1."""
    s, rest, lost, small = _arc(x)
    right, low = constant(x, c.HALF_PI)
    far = right - (((rest + lost) * 2.0 - low) + (s + s))
    return (s + rest).where(small, far).with_sign_of(x).unless_nan(x)


def acos(x: Real) -> Real:
    """The arc cosine; NaN beyond 1."""
    s, rest, lost, small = _arc(x)
    right, low = constant(x, c.HALF_PI)
    negative = x.negative()
    signed, rest_signed = (-s).where(negative, s), (-rest).where(negative, rest)
    near = right - (signed + (rest_signed - low))
    twice = (s + (rest + lost)) * 2.0
    far = (right * 2.0 - (twice - low * 2.0)).where(negative, twice)
    return near.where(small, far)


def atan2(y: Real, x: Real) -> Real:
    """The angle of the point (x, y), by the rules of C.

    With a the smaller and c the larger of the two sizes, the angle is a multiple of pi / 4 plus or minus the arc tangent
    of ``a / c`` or of ``(a - c) / (a + c)``.
    """
    b = x.b
    u, v = y.abs(), x.abs()
    steep = u > v
    a, larger = v.where(steep, u), u.where(steep, v)
    # a point at infinity, and the sum's overflow
    endless = larger.equals(math.inf)
    a = x.of(1.0).where(a.equals(math.inf), 0.0).where(endless, a)
    larger = x.of(1.0).where(endless, larger)
    huge = larger > 2.0 ** (x.format.bias - 2)
    a, larger = (a * 0.25).where(huge, a), (larger * 0.25).where(huge, larger)
    upper = a > larger * (math.sqrt(2) - 1)
    below = (a + larger).where(upper, larger)
    t = (a - larger).where(upper, a) / x.of(1.0).where(below.equals(0.0), below)
    z = t * t
    arc = (t * z).fma(polynomial(z, c.ATAN), t)
    left = x.negative()
    eighths = b.select(upper, b.int_(1), b.int_(0))
    eighths = b.select(steep, b.sub(b.int_(2), eighths), eighths)
    eighths = b.select(left, b.sub(b.int_(4), eighths), eighths)
    arc = (-arc).where(b.xor(steep, left), arc)
    right, low = constant(x, c.HALF_PI)
    count = x.from_integer(eighths)
    base, lost = product(count, right * 0.5)
    angle = base + (arc + count.fma(low * 0.5, lost))
    return (x + y).where(x.unordered(y), angle.with_sign_of(y))


def atan(x: Real) -> Real:
    """The arc tangent."""
    return atan2(x, x.of(1.0))
