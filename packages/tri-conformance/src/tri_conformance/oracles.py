"""Exact arithmetic for oracles: rational numbers, and rounding them to a type of floats in each of four modes."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from tri_conformance.dtypes import Array

__all__ = ["MODES", "ends", "exact_of", "in_high_precision", "root", "rounded"]

#: to nearest even, down, up, toward zero
MODES = ("rn", "rd", "ru", "rz")
#: significant bits, exponent of the smallest unit, exponent of the largest binade
_FORMATS = {np.dtype(np.float32): (24, -149, 127), np.dtype(np.float64): (53, -1074, 1023)}
_DIGITS = 40


def exact_of(x: Any) -> Fraction:
    """A finite float, or an integer, as it is."""
    return Fraction(int(x)) if isinstance(x, (np.integer, np.bool_, int)) else Fraction(float(x))


def root(value: Fraction) -> Fraction:
    """The square root, cut off far behind the last bit of any type; between two such numbers if it is not exact."""
    shift = 2 * max(0, 640 - (value.numerator.bit_length() - value.denominator.bit_length()) // 2)
    scaled = (value.numerator << shift) // value.denominator
    whole = math.isqrt(scaled)
    left_out = whole * whole * value.denominator != value.numerator << shift
    return (whole + Fraction(left_out, 2)) / (1 << shift // 2)


def ends(dtype: np.dtype[Any]) -> Array:
    """Numbers of ``dtype`` (fp32 or fp64) next to where it ends, of both signs: about 1, the largest, the smallest normal and subnormal."""
    info = np.finfo(dtype)
    large, small = info.max, info.smallest_normal
    # with the last of these a difference of two numbers is rounded up beyond the largest
    parts = [np.nextafter(large / part, to, dtype=dtype) for part in (2, 2.5, 3) for to in (0, large)]
    sizes = [1, 1 + info.eps, 1 - info.epsneg, large, np.nextafter(large, 0, dtype=dtype), *parts]
    sizes += [
        small,
        np.nextafter(small, 0, dtype=dtype),
        info.smallest_subnormal,
        3 * info.smallest_subnormal,
    ]
    return np.array([sign * size for size in sizes for sign in (1, -1)], dtype)


def rounded(value: Fraction, mode: str, dtype: np.dtype[Any]) -> Any:
    """``value`` in ``dtype`` (fp32 or fp64), rounded in ``mode``: a NumPy scalar, infinite where it overflows."""
    bits, least, largest_exponent = _FORMATS[dtype]
    largest = (2 - Fraction(1, 1 << bits - 1)) * (1 << largest_exponent)
    size, negative = abs(value), value < 0
    if not size:
        return dtype.type(0)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - bits + 1, least)
    low = size // unit * unit
    up = _goes_up(size, low, unit, mode, negative)
    result = low + unit if up else low
    if result > largest:
        to_infinity = mode == "rn" or (mode == "ru" and not negative) or (mode == "rd" and negative)
        return dtype.type(math.copysign(math.inf if to_infinity else float(largest), -1 if negative else 1))
    return dtype.type(-float(result) if negative else float(result))


def _goes_up(size: Fraction, low: Fraction, unit: Fraction, mode: str, negative: bool) -> bool:
    """True if a magnitude between ``low`` and the next becomes the next."""
    rest = size - low
    if mode == "rn":
        return 2 * rest > unit or (2 * rest == unit and (low / unit) % 2 == 1)
    return rest > 0 and mode != "rz" and negative == (mode == "rd")


def in_high_precision(function: Callable[..., Any], *operands: Array) -> Array:
    """``function`` of mpmath's numbers over ``operands`` (integers stay Python's), at 40 digits, as float64."""
    with mpmath.workdps(_DIGITS):
        rows = zip(*(o.tolist() for o in operands), strict=True)
        return np.array([_as_float(function(*map(_number, row))) for row in rows], np.float64)


def _number(x: float) -> Any:
    return mpmath.mpf(x) if isinstance(x, float) else x


def _as_float(x: Any) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf
