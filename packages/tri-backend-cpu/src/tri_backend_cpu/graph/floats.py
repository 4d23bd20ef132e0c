"""Encoding of Python floats in any float format: constants of types that registers carry as bits."""

from __future__ import annotations

import math

from tri_core.ttir.types import DType, FloatFormat

__all__ = ["float_bits", "largest_magnitude", "nan_magnitude"]


def nan_magnitude(layout: FloatFormat) -> int:
    """The bits of a NaN without its sign (with it for formats whose NaN is the pattern of -0)."""
    ones = (1 << (layout.exponent + layout.mantissa)) - 1
    match layout.nonfinite:
        case "ieee":
            return ones & ~((1 << (layout.mantissa - 1)) - 1)  # quiet
        case "nan_all_ones":
            return ones
        case "nan_negative_zero":
            return ones + 1


def largest_magnitude(layout: FloatFormat) -> int:
    """The bits of the largest finite number."""
    ones = (1 << (layout.exponent + layout.mantissa)) - 1
    match layout.nonfinite:
        case "ieee":
            return (((1 << layout.exponent) - 1) << layout.mantissa) - 1
        case "nan_all_ones":
            return ones - 1
        case "nan_negative_zero":
            return ones


def float_bits(value: float, dtype: DType) -> int:
    """``value`` rounded to nearest even in ``dtype``, as bits; 8-bit formats saturate, others overflow."""
    layout = dtype.format
    negative = math.copysign(1.0, value) < 0
    if math.isnan(value):
        return nan_magnitude(layout)
    magnitude = _magnitude(abs(value), layout, saturate=dtype.bits == 8)
    if layout.nonfinite == "nan_negative_zero" and magnitude == 0:
        return 0
    return magnitude | (negative << (layout.exponent + layout.mantissa))


def _magnitude(value: float, layout: FloatFormat, *, saturate: bool) -> int:
    largest = largest_magnitude(layout)
    over = largest if saturate else largest + 1
    if math.isinf(value):
        return over
    if value == 0.0:
        return 0
    exponent = max(math.frexp(value)[1] - 1, 1 - layout.bias)  # of the leading bit, at least the smallest
    steps = round(math.ldexp(value, layout.mantissa - exponent))  # Python rounds half to even
    bits = steps + ((exponent + layout.bias - 1) << layout.mantissa)
    return min(bits, over)
