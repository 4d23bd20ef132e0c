"""Promotion rules of binary operators, as pure functions of dtypes and plain scalars.

A *plain scalar* is a Python number written in the kernel or a constexpr; unlike a run-time value of rank 0
it does not widen the other operand unless its kind (boolean, integral, floating) is higher.
"""

from __future__ import annotations

import math

from tri.language import types as t
from tri_core.errors import CompilationError

__all__ = ["arithmetic_type", "check_range", "integer_type", "scalar_dtype"]

_FLOAT32_MIN = 2.0**-126
_FLOAT32_MAX = (2 - 2.0**-23) * 2.0**127
_INTEGERS = (t.int32, t.uint32, t.int64, t.uint64)


def scalar_dtype(value: float) -> t.dtype:
    """The dtype that a plain scalar takes when nothing else decides: int32 and float32 where they hold it."""
    if isinstance(value, bool):
        return t.int1
    if isinstance(value, int):
        for candidate in _INTEGERS:
            if candidate.get_int_min_value() <= value <= candidate.get_int_max_value():
                return candidate
        raise CompilationError(f"{value} does not fit in 64 bits", remedy="use a smaller integer")
    magnitude = abs(value)
    exact = magnitude == 0.0 or math.isinf(magnitude) or math.isnan(magnitude)
    return t.float32 if exact or _FLOAT32_MIN <= magnitude <= _FLOAT32_MAX else t.float64


def integer_type(x: t.dtype, y: t.dtype) -> t.dtype:
    """The wider of two integer types; at equal signedness the width, else unsigned when it is as wide."""
    x_unsigned, y_unsigned = x.is_int_unsigned(), y.is_int_unsigned()
    if x_unsigned == y_unsigned:
        return x if x.int_bitwidth > y.int_bitwidth else y
    unsigned, signed = (x, y) if x_unsigned else (y, x)
    return unsigned if unsigned.int_bitwidth >= signed.int_bitwidth else signed


def arithmetic_type(
    x: t.dtype, y: t.dtype, *, x_plain: bool = False, y_plain: bool = False, division: bool = False
) -> t.dtype:
    """The dtype in which an operator of element types ``x`` and ``y`` computes.

    ``x_plain``, ``y_plain``: that side is a plain scalar; ``division``: the operator is ``/``, ``//`` or
    ``%``, for which floats widen to at least fp32 and mixed signedness is refused.
    """
    if x_plain != y_plain:
        plain, other = (x, y) if x_plain else (y, x)
        if plain.kind() <= other.kind():
            return t.float32 if division and _is_narrow_float(other) else other
    if x.is_floating() or y.is_floating():
        return _float_type(x, y, division)
    if division and x.int_signedness != y.int_signedness:
        raise CompilationError(
            f"Cannot use /, //, or % with {x} and {y} because they have different signedness",
            remedy=f"cast one of them, e.g. with .to(tl.{x.codegen_name()})",
        )
    return integer_type(x, y)


def _is_narrow_float(x: t.dtype) -> bool:
    return x.is_floating() and x.primitive_bitwidth < 32


def _float_type(x: t.dtype, y: t.dtype, division: bool) -> t.dtype:
    pair = (x, y)
    for wide in (t.float64, t.float32):
        if wide in pair:
            return wide
    if division:
        return t.float32
    if t.float16 in pair:
        return t.float16
    if t.bfloat16 in pair:
        return t.bfloat16 if x is y else t.float32
    if x.is_fp8() and y.is_fp8():
        return x if x is y else t.float16
    raise CompilationError(f"no common type of {x} and {y}", remedy="cast one of them with .to(...)")


def check_range(value: float, type_: t.dtype) -> None:
    """Refuse an integer that ``type_`` cannot hold."""
    if not type_.is_int():
        return
    low, high = type_.get_int_min_value(), type_.get_int_max_value()
    if not low <= value <= high:
        raise CompilationError(
            f"Scalar {value} is out of range for type {type_}, which holds {low} to {high}",
            remedy="cast the other operand to a wider type",
        )
