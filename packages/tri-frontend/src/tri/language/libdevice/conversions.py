"""Conversions between integers and floats with a rounding mode; out of range they give the nearest integer.

NaN becomes 0, from fp64 or to 64 bits the integer with only its highest bit set, as libdevice has it.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs, disable-error-code="assignment"

from __future__ import annotations

from tri.jit import jit
from tri.language import types as t
from tri.language.builtin import constexpr_function
from tri.language.constexpr import constexpr
from tri.language.libdevice.ops import copysign, has_type, rint, trunc
from tri.language.libdevice.rounding import directed, narrow
from tri.language.math import abs, ceil, floor
from tri.language.selection import where

__all__ = ["from_integer", "integral", "nearest_integer", "round_away", "to_float", "to_integer"]


@constexpr_function
def limits(dtype: t.dtype) -> tuple[int, int, float]:
    """The least and the largest integer of ``dtype``, and 2 to the power of the bits of its magnitude."""
    low, high = dtype.get_int_min_value(), dtype.get_int_max_value()
    return low, high, float(high + 1)


@constexpr_function
def no_number(source: t.dtype, dtype: t.dtype) -> int:
    """Result for NaN."""
    if source.primitive_bitwidth == 32 and dtype.primitive_bitwidth == 32:
        return 0
    highest = 1 << (dtype.primitive_bitwidth - 1)
    return -highest if dtype.is_int_signed() else highest


@constexpr_function
def signed_of(dtype: t.dtype) -> t.dtype:
    """The signed integer of the width of ``dtype``."""
    return t.dtype(f"int{dtype.primitive_bitwidth}")


@jit
def round_away(x):
    """``x`` rounded to an integer, halves away from zero."""
    whole = trunc(x)
    return where(abs(x - whole) >= 0.5, whole + copysign(where(x == x, 1.0, x), x), whole)


@jit
def integral(x, mode: constexpr):
    """``x`` as an integer, still a float: ``rn`` halves to even, ``ra`` halves away, ``rd``, ``ru``, ``rz``."""
    if mode == "rn":
        r = rint(x)
    elif mode == "ra":
        r = round_away(x)
    elif mode == "rd":
        r = floor(x)
    elif mode == "ru":
        r = ceil(x)
    else:
        r = trunc(x)
    return r


@jit
def to_integer(x, mode: constexpr, dtype: constexpr):
    """``x`` as ``dtype``, whose bits come as a signed integer."""
    whole = integral(x, mode)
    bounds: constexpr = limits(dtype)
    above, below = whole >= bounds[2], whole <= bounds[0]
    inside = where(above | below | (x != x), 0.0, whole).to(dtype)
    r = where(above, bounds[1], where(below, bounds[0], inside)).to(dtype)
    r = where(x != x, no_number(x.dtype, dtype), r).to(dtype)
    return r.to(signed_of(dtype), bitcast=True)


@jit
def nearest_integer(x, mode: constexpr):
    """``x`` as int64."""
    return to_integer(x, mode, t.int64)


@jit
def to_float(x, mode: constexpr):
    """fp64 as fp32."""
    return narrow(x, mode)


@jit
def from_integer(x, mode: constexpr, dtype: constexpr):
    """An integer as ``dtype``: rounded to nearest, converted back, and compared."""
    nearest = x.to(dtype)
    if x.dtype.primitive_bitwidth == 32 and has_type(t.float64):
        r = narrow(x.to(t.float64), mode) if dtype == t.float32 else nearest
    else:
        bounds: constexpr = limits(x.dtype)
        over = nearest >= bounds[2]
        back = where(over, 0.0, nearest).to(x.dtype)
        rest = where(over | (back > x), -1.0, where(back < x, 1.0, 0.0)).to(dtype)
        r = directed(nearest, rest, mode)
    return r
