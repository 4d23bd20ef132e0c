"""Small float formats held as integers: conversion to and from f32 by bit manipulation, correctly rounded.

A format that a target has no arithmetic for (every f8, and bf16 or f16 where LLVM cannot select them) is
held as an integer of its width.  It is decoded to f32, exactly, and encoded from f32.  No step meets a
denormal f32 that the value itself does not bring, so targets that flush denormals get the same results.

Encoding saturates: what is larger than the largest finite number becomes that number, NaN stays NaN, as
the conversion instructions of GPUs do it.  bf16 and f16 keep their infinities and overflow to them.
"""

from __future__ import annotations

import math

from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.lowering.builder import Builder

__all__ = ["FORMATS", "FloatFormat", "decode", "encode", "encode_constant", "narrow_to_odd"]


@dataclass(frozen=True)
class FloatFormat:
    """A float format of ``1 + exponent + mantissa`` bits.

    ``nan`` is a NaN's pattern without sign; ``largest`` that of the largest finite number; ``infinity``
    that of infinity or None; ``negative_zero`` is false where the pattern of -0 is the NaN.
    """

    exponent: int
    mantissa: int
    bias: int
    largest: int
    nan: int
    infinity: int | None = None
    negative_zero: bool = True
    saturates: bool = True

    @property
    def width(self) -> int:
        """Bits in all."""
        return 1 + self.exponent + self.mantissa

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.width - 1)

    @property
    def shift(self) -> int:
        """Mantissa bits that f32 has more."""
        return 23 - self.mantissa

    @property
    def smallest_normal(self) -> float:
        """The smallest positive normal number."""
        return 2.0 ** (1 - self.bias)

    @property
    def ulp_of_denormals(self) -> float:
        """The smallest positive number."""
        return 2.0 ** (1 - self.bias - self.mantissa)

    def value(self, pattern: int) -> float:
        """The number that a positive finite ``pattern`` stands for."""
        exponent, mantissa = pattern >> self.mantissa, pattern & ((1 << self.mantissa) - 1)
        if exponent == 0:
            return mantissa * self.ulp_of_denormals
        return float((mantissa + (1 << self.mantissa)) * 2.0 ** (exponent - self.bias - self.mantissa))


FORMATS: dict[str, FloatFormat] = {
    "f8E5M2": FloatFormat(5, 2, 15, largest=0x7B, nan=0x7F, infinity=0x7C),
    "f8E4M3FN": FloatFormat(4, 3, 7, largest=0x7E, nan=0x7F),
    "f8E5M2FNUZ": FloatFormat(5, 2, 16, largest=0x7F, nan=0x80, negative_zero=False),
    "f8E4M3FNUZ": FloatFormat(4, 3, 8, largest=0x7F, nan=0x80, negative_zero=False),
    "f8E4M3B11FNUZ": FloatFormat(4, 3, 11, largest=0x7F, nan=0x80, negative_zero=False),
    "bf16": FloatFormat(8, 7, 127, largest=0x7F7F, nan=0x7FC0, infinity=0x7F80, saturates=False),
    "f16": FloatFormat(5, 10, 15, largest=0x7BFF, nan=0x7E00, infinity=0x7C00, saturates=False),
}


def decode(b: Builder, bits: ir.Value, format_: FloatFormat) -> ir.Value:
    """``bits`` (an integer of the format's width) as f32, exactly."""
    wide = b.int_cast(bits, b.i32)
    magnitude = b.and_(wide, b.int_(format_.sign - 1))
    sign = b.shl(b.and_(wide, b.int_(format_.sign)), 32 - format_.width)
    if format_.bias == 127:  # the exponents are those of f32, infinities and NaNs included
        return b.bitcast(b.shl(wide, 32 - format_.width), b.f32)
    scaled = b.shl(magnitude, format_.shift)
    number = b.add(scaled, b.int_((127 - format_.bias) << 23))
    exact = b.fmul(b.op("llvm.uitofp", (magnitude,), b.f32), b.float_(format_.ulp_of_denormals))
    is_denormal = b.cmp("ult", magnitude, b.int_(1 << format_.mantissa))
    number = b.select(is_denormal, b.bitcast(exact, b.i32), number)
    number = _decode_specials(b, wide, magnitude, scaled, number, format_)
    return b.bitcast(b.or_(number, sign), b.f32)


def _decode_specials(
    b: Builder, wide: ir.Value, magnitude: ir.Value, scaled: ir.Value, number: ir.Value, format_: FloatFormat
) -> ir.Value:
    if not format_.negative_zero:
        return b.select(b.cmp("eq", wide, b.int_(format_.nan)), b.int_(0x7FC00000), number)
    if format_.infinity is None:
        return b.select(b.cmp("eq", magnitude, b.int_(format_.nan)), b.int_(0x7FC00000), number)
    special = b.or_(scaled, b.int_(0x7F800000))  # a zero mantissa is infinity, any other NaN, as in f32
    return b.select(b.cmp("uge", magnitude, b.int_(format_.infinity)), special, number)


def encode(b: Builder, value: ir.Value, format_: FloatFormat, *, truncate: bool = False) -> ir.Value:
    """``value`` (f32) as an integer of the format's width, to nearest even or, truncating, toward zero."""
    wide = b.bitcast(value, b.i32)
    magnitude = b.and_(wide, b.int_(0x7FFFFFFF))
    number = _encode_normal(b, magnitude, format_, truncate)
    if format_.bias != 127:
        small = b.cmp("ult", magnitude, b.int_((128 - format_.bias) << 23))
        number = b.select(small, _encode_denormal(b, magnitude, format_, truncate), number)
    number = _encode_overflow(b, magnitude, number, format_, truncate)
    sign = b.lshr(b.and_(wide, b.int_(-(1 << 31))), 32 - format_.width)
    if not format_.negative_zero:
        sign = b.select(b.cmp("eq", number, b.int_(0)), b.int_(0), sign)
    signed = b.or_(number, sign)
    is_nan = b.cmp("ugt", magnitude, b.int_(0x7F800000))
    nan = b.int_(format_.nan) if not format_.negative_zero else b.or_(sign, b.int_(format_.nan))
    return b.int_cast(b.select(is_nan, nan, signed), b.int_type(format_.width))


def _encode_normal(b: Builder, magnitude: ir.Value, format_: FloatFormat, truncate: bool) -> ir.Value:
    if not truncate:
        odd = b.and_(b.lshr(magnitude, format_.shift), b.int_(1))
        magnitude = b.add(magnitude, b.add(odd, b.int_((1 << (format_.shift - 1)) - 1)))
    return b.lshr(b.sub(magnitude, b.int_((127 - format_.bias) << 23)), format_.shift)


def _encode_denormal(b: Builder, magnitude: ir.Value, format_: FloatFormat, truncate: bool) -> ir.Value:
    number = b.bitcast(magnitude, b.f32)
    if truncate:
        scaled = b.fmul(number, b.float_(1 / format_.ulp_of_denormals))
        return b.op("llvm.fptoui", (scaled,), b.i32)
    # adding a number whose ulp is that of the format's denormals makes the addition round to it
    magic = format_.ulp_of_denormals * 2.0**23
    rounded = b.bitcast(b.fadd(number, b.float_(magic)), b.i32)
    return b.sub(rounded, b.bitcast(b.float_(magic), b.i32))


def _encode_overflow(
    b: Builder, magnitude: ir.Value, number: ir.Value, format_: FloatFormat, truncate: bool
) -> ir.Value:
    """Encoding of magnitudes that round beyond the largest number, and of infinities where the format has
    them.
    """
    if format_.saturates:
        limit = _f32_bits(format_.value(format_.largest))
        return b.select(b.cmp("ugt", magnitude, b.int_(limit)), b.int_(format_.largest), number)
    infinity = format_.infinity
    assert infinity is not None  # by construction: formats that do not saturate have one
    is_infinite = b.cmp("uge", magnitude, b.int_(0x7F800000))
    beyond = b.cmp("uge", number, b.int_(infinity))
    if format_.bias != 127:  # large exponents wrap around in `number`
        beyond = b.or_(beyond, b.cmp("uge", magnitude, b.int_((128 + format_.bias) << 23)))
    overflow = b.select(is_infinite, b.int_(infinity), b.int_(format_.largest if truncate else infinity))
    return b.select(beyond, overflow, number)


def narrow_to_odd(b: Builder, value: ir.Value) -> ir.Value:
    """f64 to f32, inexact values to the neighbour whose last bit is 1: rounding again is then correct."""
    near = b.op("llvm.fptrunc", (value,), b.f32)
    back = b.op("llvm.fpext", (near,), b.f64)
    size = b.op("llvm.intr.fabs", (value,), b.f64)
    too_large = b.fcmp("ogt", b.op("llvm.intr.fabs", (back,), b.f64), size)
    bits = b.bitcast(near, b.i32)
    toward_zero = b.sub(bits, b.int_cast(too_large, b.i32))
    inexact = b.fcmp("one", back, value)
    return b.bitcast(b.or_(toward_zero, b.int_cast(inexact, b.i32)), b.f32)


def _f32_bits(value: float) -> int:
    """The f32 pattern of a positive ``value`` that f32 holds exactly."""
    mantissa, exponent = math.frexp(value)
    return ((exponent + 126) << 23) | (int(mantissa * (1 << 24)) & 0x7FFFFF)


def encode_constant(value: float, format_: FloatFormat) -> int:
    """The pattern of ``value``, to nearest even, as :func:`encode` gives it."""
    sign = format_.sign if math.copysign(1.0, value) < 0 else 0
    if math.isnan(value):
        return format_.nan if not format_.negative_zero else sign | format_.nan
    pattern = _encode_magnitude(abs(value), format_)
    return pattern if pattern == 0 and not format_.negative_zero else sign | pattern


def _encode_magnitude(value: float, format_: FloatFormat) -> int:
    overflow = format_.largest if format_.saturates or format_.infinity is None else format_.infinity
    if math.isinf(value):
        return overflow
    if value == 0:  # frexp gives zero the exponent of numbers near 1
        return 0
    exponent = max(math.frexp(value)[1] - 1, 1 - format_.bias)
    steps = round(math.ldexp(value, format_.mantissa - exponent))  # Python rounds to even
    pattern = steps + ((exponent + format_.bias - 1) << format_.mantissa)
    return overflow if pattern > format_.largest else pattern
