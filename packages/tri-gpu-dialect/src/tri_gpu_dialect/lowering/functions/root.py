"""The cube root and rounding half away from zero, of f32 and f64."""

from __future__ import annotations

import math

from tri_gpu_dialect.lowering.functions import coefficients as c
from tri_gpu_dialect.lowering.functions.real import Real, polynomial

__all__ = ["cbrt", "round_"]


def cbrt(x: Real) -> Real:
    """The cube root: of the mantissa by a polynomial and Halley's steps, each of which triples the digits."""
    b, f, size = x.b, x.format, x.abs()
    tiny = size < 2.0 ** (1 - f.bias)
    thirds = 8 if f.bits == 32 else 18
    bits = (size * 2.0 ** (3 * thirds)).where(tiny, size).bits()
    exponent = b.int_cast(b.lshr(bits, f.fraction), b.i32)
    # both counted from a multiple of three below every exponent
    raised = b.add(exponent, b.int_(3 * f.bias - f.bias))
    third = b.udiv(raised, b.int_(3))
    rest = b.sub(raised, b.mul(third, b.int_(3)))
    fraction = b.and_(bits, b.const(x.word, (1 << f.fraction) - 1))
    mantissa = x.from_bits(b.or_(fraction, b.const(x.word, f.bias << f.fraction)))
    guess = polynomial(mantissa, c.CBRT)
    one, two = b.cmp("eq", rest, b.int_(1)), b.cmp("eq", rest, b.int_(2))
    y = guess * x.of(2.0 ** (1 / 3)).where(one, x.of(2.0 ** (2 / 3)).where(two, 1.0))
    m = mantissa * x.of(2.0).where(one, x.of(4.0).where(two, 1.0))
    for _ in range(1 if f.bits == 32 else 2):
        square = y * y
        residue = (-square).fma(y, m)
        y = y + y * residue / (square * y).fma(2.0, m)
    count = b.sub(third, b.select(tiny, b.int_(f.bias + thirds), b.int_(f.bias)))
    found = (y * x.power_of_two(count)).with_sign_of(x)
    return found.where(b.and_(size > 0.0, size < math.inf), x)


def round_(x: Real) -> Real:
    """The nearest integer, halves away from zero."""
    whole = x.trunc()
    further = (x - whole).abs() >= 0.5
    step = x.of(1.0).where(further, 0.0)
    return (whole.abs() + step).with_sign_of(x).unless_nan(x)
