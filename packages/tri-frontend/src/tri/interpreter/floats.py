"""Rounding: every conversion from a wider float to a narrower one, and fused multiply-add.

All are correctly rounded.  From fp64 a narrow format is reached through fp32 *rounded to odd*: the odd last
bit remembers that something was cut off, so that the second rounding sees what the first one lost.
8-bit formats saturate at their largest finite number, as the conversions of GPUs do.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np

from tri.interpreter.arrays import Data, numpy_type
from tri.language import types as t

__all__ = ["fma", "from_f64", "narrow", "product_sum", "single", "tf32", "widen"]


def widen(data: Data, type_: t.dtype) -> Data:
    """Narrow floats as fp32, exactly; fp32 and fp64 as they are."""
    if data.dtype.itemsize >= 4:
        return data
    return data.astype(np.float32)


def narrow(data: Data, type_: t.dtype, *, toward_zero: bool = False) -> Data:
    """fp32 or fp64 ``data`` rounded to ``type_``, to nearest even or toward zero."""
    scalar = type_.scalar
    wanted = numpy_type(scalar)
    if data.dtype == wanted:
        return data
    if scalar.is_fp64():
        return data.astype(wanted)
    if data.dtype == np.float64:
        if scalar.is_fp32():
            return _toward_zero(data.astype(np.float32), data) if toward_zero else data.astype(np.float32)
        data = _odd_single(data)
    limit = _largest(scalar.name) if scalar.is_fp8() else None
    # an infinity is cut too: the formats without one would make it NaN
    clipped = data if limit is None else np.clip(data, -limit, limit)
    rounded = clipped.astype(wanted)
    return _toward_zero(rounded, clipped) if toward_zero else rounded


def single(data: Data, type_: t.dtype) -> Data:
    """An fp32 or fp64 result as ``type_``: what is computed wider is rounded after every op."""
    return data if data.dtype == numpy_type(type_) else narrow(data, type_)


def from_f64(value: float, type_: t.dtype) -> Data:
    """A Python float as one element of ``type_``."""
    return np.asarray(narrow(np.asarray(value, np.float64), type_))


@cache
def _largest(name: str) -> np.float32:
    import ml_dtypes

    return np.float32(ml_dtypes.finfo(numpy_type(t.dtype(name))).max)  # type: ignore[no-untyped-call]


def _toward_zero(rounded: Data, exact: Data) -> Data:
    """``rounded`` one step nearer to zero where rounding went away from zero."""
    bits = np.asarray(rounded).view(f"u{rounded.dtype.itemsize}")
    too_far = np.abs(rounded.astype(np.float64)) > np.abs(exact.astype(np.float64))
    stepped = np.asarray(bits - too_far.astype(bits.dtype))
    if bits.dtype.itemsize == 1 and rounded.dtype.name.endswith("fnuz"):
        stepped = np.where(too_far & (stepped == 0x80), np.uint8(0), stepped)  # there is no -0: it means NaN
    return stepped.view(rounded.dtype)


def _odd_single(data: Data) -> Data:
    """fp64 as fp32 rounded to odd: cut off, and the last bit set where anything was lost."""
    cut = np.asarray(_toward_zero(np.asarray(data.astype(np.float32)), data))
    lost = (cut.astype(np.float64) != data) & ~np.isnan(data)
    return (cut.view(np.uint32) | lost.astype(np.uint32)).view(np.float32)


def _odd_double(total: Data, error: Data) -> Data:
    """``total + error`` rounded to odd, where ``total`` is it rounded to nearest."""
    total = np.asarray(total)
    bits = total.view(np.int64)
    inexact = (error != 0) & np.isfinite(total) & (bits & 1 == 0)
    away = (error > 0) == (total > 0)
    step = np.where(away, 1, -1) * inexact
    return np.asarray(bits + step).view(np.float64)


# --- fused multiply-add ---------------------------------------------------------------------------------


def _two_sum(x: Data, y: Data) -> tuple[Data, Data]:
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _halves(x: Data) -> tuple[Data, Data]:
    scaled = x * 134217729.0
    high = scaled - (scaled - x)
    return high, x - high


def _two_product(x: Data, y: Data) -> tuple[Data, Data]:
    product = x * y
    (a, b), (c, d) = _halves(x), _halves(y)
    return product, b * d - (((product - a * c) - b * c) - a * d)


def fma(x: Data, y: Data, z: Data, type_: t.dtype) -> Data:
    """``x * y + z``, rounded once."""
    if x.dtype != np.float64:
        x, y, z = (widen(v, type_).astype(np.float64) for v in (x, y, z))
        total, error = _two_sum(x * y, z)  # the product of two fp32 is exact
        return narrow(_odd_double(total, error), type_)
    made = _finite_fma(*_two_product(x, y), z)
    safe = _is_safe(x) & _is_safe(y) & _is_safe(z)
    return made if safe.all() else np.where(safe, made, _EXACT_FMA(x, y, z))


def _is_safe(x: Data) -> Data:
    """Mask of numbers whose products and errors neither overflow nor underflow."""
    size = np.abs(x)
    return np.asarray((size == 0) | ((size > 2.0**-450) & (size < 2.0**450)))


def _exact_fma(x: float, y: float, z: float) -> float:
    """``x * y + z`` by rational arithmetic: for numbers near the ends of the range."""
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        return x * y + z if math.isfinite(z) or not math.isfinite(x * y) else z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if not exact:
        return x * y + z  # the sign of a zero
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


_EXACT_FMA = np.vectorize(_exact_fma, otypes=[np.float64])


def product_sum(x: Data, y: Data, total: Data) -> Data:
    """``total + x @ y`` of fp32: a fused multiply-add for each place of the inner dimension, in order."""
    left, right, kept = x.astype(np.float64), y.astype(np.float64), total.astype(np.float64)
    for k in range(x.shape[-1]):
        exact = _odd_double(*_two_sum(left[..., :, k, None] * right[..., k, None, :], kept))
        kept = exact.astype(np.float32).astype(np.float64)
    return kept.astype(np.float32)


def _finite_fma(high: Data, low: Data, z: Data) -> Data:
    upper, rest = _two_sum(z, low)
    total, error = _two_sum(high, upper)
    return np.asarray(total + _odd_double(*_two_sum(error, rest)))


def tf32(data: Data) -> Data:
    """fp32 rounded to the 10 bits of mantissa of tf32, ties away from zero; infinities and NaN as they are."""
    bits = np.ascontiguousarray(data).view(np.uint32)
    rounded = ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(data), rounded, data).reshape(data.shape)
