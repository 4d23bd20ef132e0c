"""Narrow floats by their bits."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


#: name: exponent bits, mantissa bits, bias, kind of non-finite values
FORMATS = {
    "f16": (5, 10, 15, "ieee"),
    "bf16": (8, 7, 127, "ieee"),
    "f8E5M2": (5, 2, 15, "ieee"),
    "f8E4M3FN": (4, 3, 7, "fn"),
    "f8E4M3FNUZ": (4, 3, 8, "fnuz"),
    "f8E5M2FNUZ": (5, 2, 16, "fnuz"),
    "f8E4M3B11FNUZ": (4, 3, 11, "fnuz"),
}


@cache
def decoded(name: str) -> Array:
    """The value of every bit pattern of a format, as f64."""
    exponent, mantissa, bias, kind = FORMATS[name]
    width = 1 + exponent + mantissa
    patterns = np.arange(1 << width)
    fraction, power = patterns & ((1 << mantissa) - 1), (patterns >> mantissa) & ((1 << exponent) - 1)
    significand = np.where(power == 0, fraction, fraction + (1 << mantissa)).astype(np.float64)
    values = np.ldexp(significand, np.maximum(power, 1) - bias - mantissa)
    values = np.where(patterns >> (width - 1), -values, values)
    top = power == (1 << exponent) - 1
    if kind == "ieee":
        values[top & (fraction == 0)] *= np.inf
        values[top & (fraction != 0)] = np.nan
    elif kind == "fn":
        values[top & (fraction == (1 << mantissa) - 1)] = np.nan
    else:
        values[1 << (width - 1)] = np.nan
    return values


def bits_of(name: str) -> Any:
    return {8: np.uint8, 16: np.uint16}[1 + sum(FORMATS[name][:2])]


def nearest(values: Array, name: str, toward_zero: bool = False) -> Array:
    """Magnitude patterns of ``values`` (not NaN) in ``name``; ties to the even pattern, 8 bits saturate."""
    table = decoded(name)
    finite = np.flatnonzero(np.isfinite(table) & ~np.signbit(table))
    numbers = table[finite]
    magnitude = np.abs(values)
    below = finite[np.clip(np.searchsorted(numbers, magnitude, side="right") - 1, 0, len(finite) - 1)]
    above = np.minimum(below + 1, finite[-1])
    low, high = table[below], table[above]
    up = (magnitude - low > high - magnitude) | ((magnitude - low == high - magnitude) & (below % 2 == 1))
    result = np.where(up & (not toward_zero), above, below)
    largest, step = numbers[-1], numbers[-1] - numbers[-2]
    saturates = bits_of(name) is np.uint8
    over = magnitude >= largest + step / 2 if not toward_zero else np.isinf(magnitude)
    return np.where(over & (not saturates), finite[-1] + 1, result)
