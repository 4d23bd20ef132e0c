"""Semantics of Triton's operators and casts, in NumPy; written from Triton's rules, using nothing of tri."""

from __future__ import annotations

from typing import Any

import numpy as np

from integration.random_kernels.values import BOOL, Array, bits, is_float, is_signed, numpy_dtype, promoted

__all__ = ["binary", "cast", "compare", "divide", "extreme", "fma", "name_of", "shift"]


def name_of(x: Array) -> str:
    """The name of an array's type."""
    return BOOL if x.dtype == bool else str(x.dtype)


def cast(x: Array, dtype: str) -> Array:
    """``x.to(dtype)``: integers keep the low bits, int1 is "not zero", bfloat16 goes through float32."""
    if name_of(x) == dtype:
        return x
    if dtype == BOOL:
        return np.asarray(x != x.dtype.type(0))
    if dtype == "bfloat16" or name_of(x) == "bfloat16":
        x = x.astype(np.float32)
    return x.astype(numpy_dtype(dtype))


def binary(x: Array, y: Array, sign: str) -> Array:
    """A sum, difference, product or bitwise operation in the promoted type."""
    functions: dict[str, Any] = {
        "+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
    }  # fmt: skip
    common = promoted(name_of(x), name_of(y))
    return np.asarray(functions[sign](cast(x, common), cast(y, common)))


def compare(x: Array, y: Array, sign: str) -> Array:
    """A comparison in the promoted type; with a NaN only "not equal" holds."""
    functions: dict[str, Any] = {
        "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
    }  # fmt: skip
    common = promoted(name_of(x), name_of(y))
    return np.asarray(functions[sign](cast(x, common), cast(y, common)))


def extreme(x: Array, y: Array, kind: str, propagate: bool = False) -> Array:
    """``tl.minimum`` or ``tl.maximum``; the number of a number and a NaN, unless NaNs propagate."""
    common = promoted(name_of(x), name_of(y))
    x, y = cast(x, common), cast(y, common)
    if not is_float(common) or propagate:
        return np.asarray(np.minimum(x, y) if kind == "min" else np.maximum(x, y))
    return np.asarray(np.fmin(x, y) if kind == "min" else np.fmax(x, y))


def shift(x: Array, amount: Array, sign: str) -> Array:
    """A shift in the promoted type; to the right, the sign of the left operand's type decides what comes in."""
    common = promoted(name_of(x), name_of(amount))
    wide, by = cast(x, common), cast(amount, common)
    if sign == "<<":
        return np.asarray(np.left_shift(wide, by))
    kind = np.dtype(("int" if is_signed(name_of(x)) else "uint") + str(bits(common)))
    return np.asarray(np.right_shift(wide.view(kind), by.view(kind)).view(wide.dtype))


def divide(x: Array, y: Array, sign: str) -> Array:
    """``//`` and ``%`` of integers of one signedness: the quotient is cut off, not rounded down."""
    common = promoted(name_of(x), name_of(y))
    x, y = cast(x, common), cast(y, common)
    remainder = np.fmod(x, y)
    return np.asarray(remainder if sign == "%" else np.subtract(x, remainder) // y)


def fma(x: Array, y: Array, z: Array) -> Array:
    """``x * y + z`` of float32, rounded once: the sum in float64 is rounded to odd, then to nearest."""
    product, addend = x.astype(np.float64) * y.astype(np.float64), z.astype(np.float64)
    total = product + addend
    back = total - product
    error = (product - (total - back)) + (addend - back)
    toward = np.where((error > 0) == (total > 0), 1, -1)
    inexact = np.isfinite(total) & (error != 0) & ((total.view(np.int64) & 1) == 0)
    odd = np.where(inexact, total.view(np.int64) + toward, total.view(np.int64)).view(np.float64)
    return odd.astype(np.float32)
