"""Sine, cosine and tangent of f64, for arguments of any size.

The argument is reduced to a pair within pi / 4 and the number of the quadrant: up to 2**20 by fused multiply-adds with
pi / 2 in three pieces (Cody and Waite, 1980), beyond by the product of the mantissa and those bits of 2 / pi that matter,
in integers (Payne and Hanek, 1983).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tri_core.mlir import ir
from tri_gpu_dialect.lowering.builder import Builder
from tri_gpu_dialect.lowering.functions import coefficients as c
from tri_gpu_dialect.lowering.functions.real import (
    Pair,
    Real,
    constant,
    fast_sum,
    polynomial,
    product,
    two_sum,
)

__all__ = ["cos", "sin", "tan"]

#: where the fast reduction ends
_LARGE = 2.0**20
#: words of 2 / pi that take part in a product
_WINDOW = 6
#: the table behind two words of zeros
_WORDS = (0, 0, *c.TWO_OVER_PI)


def _reduce(x: Real) -> tuple[Pair, ir.Value]:
    """The pair and the quadrant's number (i32, its low two bits)."""
    b = x.b
    # NaN and infinity go the long way, which asks for nothing undefined
    r, low, quadrant = b.if_(
        x.abs() < _LARGE, lambda: _reduce_near(x), lambda: _reduce_far(x), [b.f64, b.f64, b.i32]
    )
    return (Real(b, r), Real(b, low)), quadrant


def _reduce_near(x: Real) -> Sequence[ir.Value]:
    first, second, third = c.HALF_PI[64]
    n, count = (x * (2 / math.pi)).nearest()
    near = n.fma(-first, x)  # exact
    # the two may cancel: nothing of either is lost
    taken, rest = product(n, x.of(second))
    r, low = two_sum(near, -taken)
    r, low = fast_sum(r, n.fma(-third, low - rest))
    return r.value, low.value, count


def _reduce_far(x: Real) -> Sequence[ir.Value]:
    b = x.b
    bits = x.abs().bits()
    exponent = b.int_cast(b.lshr(bits, 52), b.i32)
    mantissa = b.or_(b.and_(bits, b.const(b.i64, (1 << 52) - 1)), b.const(b.i64, 1 << 52))
    # the first bit whose product is below 4: x = mantissa * 2**(exponent - 1075), and a window has 192 bits
    first = b.sub(exponent, b.int_(1075 + 2 - 64))
    turns, below = _product(b, mantissa, _window(b, first))
    quadrant = b.int_cast(b.lshr(b.add(turns, b.const(b.i64, 1 << 61)), 62), b.i32)
    fraction = b.or_(b.shl(turns, 2), b.lshr(below, 62))
    r, low = _times_half_pi(x, fraction, b.shl(below, 2))
    negative = x.negative()
    quadrant = b.select(negative, b.sub(b.int_(0), quadrant), quadrant)
    return (-r).where(negative, r).value, (-low).where(negative, low).value, quadrant


def _product(b: Builder, mantissa: ir.Value, window: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value]:
    """The upper 128 bits, modulo the window's size, of ``mantissa`` (i64) times ``window`` (words of 32 in i64)."""
    mask = b.const(b.i64, 0xFFFFFFFF)
    total: list[ir.Value] = [b.const(b.i64, 0)] * _WINDOW
    for factor, shift in ((b.and_(mantissa, mask), 0), (b.lshr(mantissa, 32), 1)):
        carry = b.const(b.i64, 0)
        for i in reversed(range(shift, _WINDOW)):
            made = b.add(b.add(b.mul(factor, window[i]), total[i - shift]), carry)
            total[i - shift] = b.and_(made, mask)
            carry = b.lshr(made, 32)
    return b.or_(b.shl(total[0], 32), total[1]), b.or_(b.shl(total[2], 32), total[3])


def _window(b: Builder, first: ir.Value) -> list[ir.Value]:
    """192 bits of the table from bit ``first`` (i32, not negative), as words of 32 in i64.

    The words are shifted along by powers of two, as the bits of the word's number say.
    """
    word, shift = b.lshr(first, 5), b.int_cast(b.and_(first, b.int_(31)), b.i64)
    words = [b.const(b.i64, w) for w in _WORDS]
    for step in (32, 16, 8, 4, 2, 1):
        moves = b.cmp("ne", b.and_(word, b.int_(step)), b.int_(0))
        kept = min(len(words), step + _WINDOW)
        words = [
            b.select(moves, words[i + step], words[i]) if i + step < len(words) else words[i]
            for i in range(kept)
        ]
    joined = [b.or_(b.shl(words[i], 32), words[i + 1]) for i in range(_WINDOW)]
    return [b.lshr(b.shl(pair, shift), 32) for pair in joined]


def _times_half_pi(x: Real, fraction: ir.Value, below: ir.Value) -> Pair:
    """128 bits in units of 2**-128, as a signed number, times pi / 2."""
    b = x.b
    sign = b.ashr(fraction, 63)
    fraction, below = b.xor(fraction, sign), b.xor(below, sign)
    rest = b.const(b.i64, (1 << 11) - 1)
    high = x.from_integer(b.and_(fraction, b.not_(rest))) * 2.0**-64
    low_bits = b.or_(b.shl(b.and_(fraction, rest), 52), b.lshr(below, 12))
    high, low = two_sum(high, x.from_integer(low_bits) * 2.0**-116)
    unit, unit_low = constant(x, c.HALF_PI)
    made, lost = product(high, unit)
    made, lost = fast_sum(made, high.fma(unit_low, low.fma(unit, lost)))
    negative = b.cmp("slt", sign, b.const(b.i64, 0))
    return (-made).where(negative, made), (-lost).where(negative, lost)


def _sine(r: Real, low: Real) -> Real:
    z = r * r
    # the derivative at r, to the digits that count
    rest = low * z.fma(-0.5, 1.0)
    return r + (z * r).fma(polynomial(z, c.SIN), rest)


def _cosine(r: Real, low: Real) -> Real:
    """``1 - r**2 / 2 + ...``, what rounding the first two terms loses being put back."""
    z = r * r
    half = z * 0.5
    start = 1.0 - half
    lost = (1.0 - start) - half
    return start + ((z * z).fma(polynomial(z, c.COS), lost) - r * low)


def _of_quadrant(r: Pair, quadrant: ir.Value) -> Real:
    """The sine of ``r + quadrant * pi / 2``."""
    b = r[0].b
    odd = b.cmp("ne", b.and_(quadrant, b.int_(1)), b.int_(0))
    value = _cosine(*r).where(odd, _sine(*r))
    lower = b.cmp("ne", b.and_(quadrant, b.int_(2)), b.int_(0))
    return (-value).where(lower, value)


def _finite(x: Real, result: Real) -> Real:
    return result.where(x.abs() < math.inf, math.nan)


def sin(x: Real) -> Real:
    """The sine; that of -0 is -0."""
    r, quadrant = _reduce(x)
    return _finite(x, x.where(x.abs() < 2.0**-27, _of_quadrant(r, quadrant)))


def cos(x: Real) -> Real:
    """The cosine."""
    r, quadrant = _reduce(x)
    return _finite(x, _of_quadrant(r, x.b.add(quadrant, x.b.int_(1))))


def tan(x: Real) -> Real:
    """The tangent."""
    b = x.b
    r, quadrant = _reduce(x)
    sine, cosine = _sine(*r), _cosine(*r)
    odd = b.cmp("ne", b.and_(quadrant, b.int_(1)), b.int_(0))
    ratio = (-cosine).where(odd, sine) / sine.where(odd, cosine)
    return _finite(x, x.where(x.abs() < 2.0**-27, ratio))
