"""Sine, cosine and tangent of f32, for arguments of any size.

The argument is reduced to ``r`` within pi / 4 and the number of the quadrant.  Up to 2**16 three fused
multiply-adds with a pi / 2 of three pieces do it exactly enough.  Beyond, the bits of 2 / pi that matter
are multiplied with the argument's mantissa in integers (Payne and Hanek's method).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tri_core.mlir import ir
from tri_gpu_dialect.lowering.builder import Builder
from tri_gpu_dialect.lowering.polynomials import horner, nearest_integer, split_double

__all__ = ["cos", "sin", "tan"]

_SIN = (-0.1666666716337204, 0.008333329111337662, -0.0001983925758395344, 2.7175681225344306e-06)
_COS = (0.0416666679084301, -0.0013888883404433727, 2.4799437596811913e-05, -2.720333895922522e-07)

_HIGH, _rest = split_double(math.pi / 2)
_MIDDLE, _ = split_double(_rest)
#: pi / 2 beyond the two pieces above: math.pi itself lacks 6.1e-17 of pi / 2
_LOW = (_rest - _MIDDLE) + 6.123233995736766e-17

#: where the fast reduction ends
_LARGE = 2.0**16

#: the bits of 2 / pi after the point, in words of 32, behind one word of zeros
_TWO_OVER_PI = (
    0x00000000, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB,
)  # fmt: skip


def _reduce(b: Builder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """r (f32) within pi / 4 and the quadrant's number (i32, its low two bits) of ``x``."""
    size = b.op("llvm.intr.fabs", (x,), b.f32)
    # NaN and infinity go the long way, which asks for nothing undefined
    near = b.fcmp("olt", size, b.float_(_LARGE))
    found = b.if_(near, lambda: _reduce_near(b, x), lambda: _reduce_far(b, x, size), [b.f32, b.i32])
    return found[0], found[1]


def _reduce_near(b: Builder, x: ir.Value) -> Sequence[ir.Value]:
    n, count = nearest_integer(b, b.fmul(x, b.float_(2 / math.pi)))
    r = x
    for piece in (_HIGH, _MIDDLE, _LOW):
        r = b.fma(n, b.float_(-piece), r)
    return r, count


def _reduce_far(b: Builder, x: ir.Value, size: ir.Value) -> Sequence[ir.Value]:
    bits = b.bitcast(size, b.i32)
    exponent = b.lshr(bits, 23)
    mantissa = b.int_cast(b.or_(b.and_(bits, b.int_(0x7FFFFF)), b.int_(0x800000)), b.i64)
    # the first bit of 2 / pi whose product is below 4, counted in the table with its word of zeros
    first = b.add(exponent, b.int_(32 - 152))
    top = _window(b, first)
    low = b.const(b.i64, 0xFFFFFFFF)
    product = b.mul(mantissa, top[2])
    product = b.add(b.mul(mantissa, top[1]), b.lshr(product, 32))
    middle = b.and_(product, low)
    product = b.add(b.mul(mantissa, top[0]), b.lshr(product, 32))
    turns = b.or_(b.shl(product, 32), middle)  # quarter turns, modulo 4, with 62 bits after the point
    quadrant = b.int_cast(b.lshr(b.add(turns, b.const(b.i64, 1 << 61)), 62), b.i32)
    r = _times_half_pi(b, b.shl(turns, 2))
    negative = b.cmp("slt", b.bitcast(x, b.i32), b.int_(0))
    return b.select(negative, b.fneg(r), r), b.select(negative, b.sub(b.int_(0), quadrant), quadrant)


def _times_half_pi(b: Builder, fraction: ir.Value) -> ir.Value:
    """``fraction`` (i64, in units of 2**-64) times pi / 2, rounded once: its upper 24 bits are an f32."""
    rest = b.const(b.i64, (1 << 40) - 1)
    high = b.op("llvm.sitofp", (b.and_(fraction, b.not_(rest)),), b.f32)
    low = b.op("llvm.sitofp", (b.and_(fraction, rest),), b.f32)
    unit, unit_low = (b.float_(piece * 2.0**-64) for piece in (_HIGH, _MIDDLE))
    return b.fma(high, unit, b.fma(low, unit, b.fmul(high, unit_low)))


def _window(b: Builder, first: ir.Value) -> list[ir.Value]:
    """96 bits of the table from bit ``first`` (i32, 23 to 135), as three words in i64."""
    word, shift = b.lshr(first, 5), b.int_cast(b.and_(first, b.int_(31)), b.i64)
    words = []
    for i in range(4):
        chosen = b.const(b.i64, _TWO_OVER_PI[i])
        for start in range(1, len(_TWO_OVER_PI) - i):
            is_start = b.cmp("eq", word, b.int_(start))
            chosen = b.select(is_start, b.const(b.i64, _TWO_OVER_PI[i + start]), chosen)
        words.append(chosen)
    joined = [b.or_(b.shl(words[i], 32), words[i + 1]) for i in range(3)]
    return [b.lshr(b.shl(pair, shift), 32) for pair in joined]


def _sine(b: Builder, r: ir.Value) -> ir.Value:
    square = b.fmul(r, r)
    return b.fma(b.fmul(square, r), horner(b, square, _SIN), r)


def _cosine(b: Builder, r: ir.Value) -> ir.Value:
    """``1 - r**2 / 2 + ...``, what rounding the first two terms loses being put back."""
    square = b.fmul(r, r)
    half = b.fmul(square, b.float_(0.5))
    start = b.fsub(b.float_(1.0), half)
    lost = b.fsub(b.fsub(b.float_(1.0), start), half)
    return b.fadd(start, b.fma(b.fmul(square, square), horner(b, square, _COS), lost))


def _of_quadrant(b: Builder, r: ir.Value, quadrant: ir.Value) -> ir.Value:
    """The sine of ``r + quadrant * pi / 2``."""
    one = b.int_(1)
    odd = b.cmp("ne", b.and_(quadrant, one), b.int_(0))
    value = b.select(odd, _cosine(b, r), _sine(b, r))
    lower = b.cmp("ne", b.and_(quadrant, b.int_(2)), b.int_(0))
    return b.select(lower, b.fneg(value), value)


def _finite(b: Builder, x: ir.Value, result: ir.Value) -> ir.Value:
    """NaN where x is infinite or NaN."""
    size = b.op("llvm.intr.fabs", (x,), b.f32)
    return b.select(b.fcmp("olt", size, b.float_(math.inf)), result, b.float_(math.nan))


def sin(b: Builder, x: ir.Value) -> ir.Value:
    """The sine; that of -0 is -0."""
    r, quadrant = _reduce(b, x)
    result = _of_quadrant(b, r, quadrant)
    tiny = b.fcmp("olt", b.op("llvm.intr.fabs", (x,), b.f32), b.float_(2.0**-13))
    return _finite(b, x, b.select(tiny, x, result))


def cos(b: Builder, x: ir.Value) -> ir.Value:
    """The cosine."""
    r, quadrant = _reduce(b, x)
    return _finite(b, x, _of_quadrant(b, r, b.add(quadrant, b.int_(1))))


def tan(b: Builder, x: ir.Value) -> ir.Value:
    """The tangent, within 4 ulp."""
    r, quadrant = _reduce(b, x)
    sine, cosine = _sine(b, r), _cosine(b, r)
    odd = b.cmp("ne", b.and_(quadrant, b.int_(1)), b.int_(0))
    ratio = b.fdiv(b.select(odd, b.fneg(cosine), sine), b.select(odd, sine, cosine))
    tiny = b.fcmp("olt", b.op("llvm.intr.fabs", (x,), b.f32), b.float_(2.0**-13))
    return _finite(b, x, b.select(tiny, x, ratio))
