"""The accumulator of Hopper's tensor core for 8-bit floats: fewer bits than f32 has.

One ``wgmma`` of ``e4m3`` or ``e5m2`` along its 32 elements of k (PTX ISA 9.7.15, ``.f32.e4m3.e5m2`` and its like) aligns
the 32 dot terms and the accumulator to the largest of their exponents, keeps 13 bits below it of each, adds, and keeps 13
bits of the fraction of the result; everything is cut off, nothing rounded.  The exponent of a term is the sum of its
factors' exponents.  The manual does not say so: it was found on an H200, whose results these are bit for bit (operands of
both types, accumulators from zero to thousands of times the dot), and agrees with the DeepSeek-V3 report (2024, 3.3.2),
which saw about 14 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["FP8", "accumulate"]

Array = npt.NDArray[Any]

#: PTX's types that accumulate so
FP8 = frozenset({"e4m3", "e5m2"})
#: bits below the largest exponent
_BITS = 13
#: the exponent of zeros: below that of everything
_NONE = -1000


def accumulate(accumulator: Array, left: Array, right: Array) -> Array:
    """``accumulator + left @ right.T`` of one instruction: (m, n), (m, k) and (n, k), in double precision; so is the result."""
    with np.errstate(invalid="ignore"):
        return _accumulated(accumulator, left, right)


def _accumulated(accumulator: Array, left: Array, right: Array) -> Array:
    terms = left[:, None, :] * right[None, :, :]
    exponents = _exponent(left)[:, None, :] + _exponent(right)[None, :, :]
    exponents[terms == 0] = _NONE
    largest = np.maximum(exponents.max(axis=2), _exponent(accumulator))
    shift = _BITS - largest
    aligned = np.trunc(np.ldexp(terms, shift[:, :, None])).sum(axis=2) + np.trunc(
        np.ldexp(accumulator, shift)
    )
    made = _cut(np.ldexp(aligned, -shift))
    plain = accumulator + terms.sum(axis=2)
    # infinities and NaNs are what they are in any format
    result: Array = np.where(np.isfinite(plain), made, plain)
    return result


def _exponent(values: Array) -> Array:
    """The exponents of ``values``: of 1.5 it is 0."""
    exponents = np.frexp(np.where(np.isfinite(values), values, 0.0))[1].astype(np.int32) - 1
    exponents[values == 0] = _NONE
    return exponents


def _cut(values: Array) -> Array:
    """``values`` with the bits of the fraction that are kept."""
    exponents = _exponent(values)
    cut: Array = np.ldexp(np.trunc(np.ldexp(values, _BITS - exponents)), exponents - _BITS)
    return cut
