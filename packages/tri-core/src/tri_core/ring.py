"""Floats as integers of as many bits, modulo a power of two: arithmetic in which no order of sums matters.

In exact passes the bits of a float are an integer in two's complement.  Sums and products wrap around, so what real numbers
allow (another order, a split sum, a fused multiply-add) keeps all bits.  Functions that are not of the ring are fixed maps of
all bits, the same at every level.  All functions take and give arrays of signed integers of one type.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from tri_core.errors import Unsupported

__all__ = [
    "FUNCTIONS",
    "INFINITY",
    "compare",
    "elements",
    "function",
    "less",
    "literal",
    "literals",
    "numbers",
    "product_sum",
]

Array = npt.NDArray[Any]
Function = Callable[..., Any]

#: what an infinity is, at every width: by sign greater and less than all others
INFINITY = 0x5A5B
#: to which powers are taken: 5 modulo 8, so that they repeat as late as can be (after 2^(w-2))
_BASE = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
#: bits of a literal that are the number itself
_WHOLE = 24


def literal(value: float, bits: int) -> int:
    """The element, signed, that the float ``value``, one of a type of ``bits`` bits, stands for in the text of a program.

    Whole numbers are themselves.  Others are a hash, odd, of the value in the narrowest type that has it, extended by its sign: so casts
    of literals agree with the literals.  The negative of a value has the negative element.
    """
    if value == 0:
        return 0
    if value in (np.inf, -np.inf):
        return INFINITY if value > 0 else -INFINITY
    if float(value).is_integer() and abs(value) < 1 << min(bits - 1, _WHOLE):
        return int(value)
    size = _narrowest(abs(value), bits)
    found = _mixed(int.from_bytes(struct.pack("<d", abs(value)), "little")) | 1
    signed = _signed(found, size)
    return -signed if value < 0 else signed


def literals(values: Array, bits: int) -> Array:
    """:func:`literal` of each of an array of floats, as int64."""
    found = [literal(float(each), bits) for each in np.asarray(values).reshape(-1)]
    return np.array(found, np.int64).reshape(np.shape(values))


def _narrowest(value: float, bits: int) -> int:
    if bits <= 16 or value != value:
        return 16
    with np.errstate(over="ignore"):
        single = np.float32(value)
        if float(np.float16(value)) == value or (
            float(single) == value and not int(single.view(np.uint32)) & 0xFFFF
        ):
            return 16
    return 32 if bits <= 32 or float(single) == value else 64


def _signed(number: int, bits: int) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _mixed(number: int) -> int:
    """The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection of 64 bits."""
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    number = (number ^ number >> 27) * 0x94D049BB133111EB & _MASK
    return number ^ number >> 31


def numbers(values: Array) -> Array:
    """The integers that an array of floats of 16, 32 or 64 bits holds as its bits; Unsupported for narrower ones."""
    if values.dtype.itemsize < 2:
        raise Unsupported(
            "floats of 8 bits have no exact arithmetic", remedy="verify the kernel without exact passes"
        )
    return values.view(f"i{values.dtype.itemsize}")


# --- order ----------------------------------------------------------------------------------------------


def _key(x: Array) -> Array:
    wide = x.astype(np.int64)
    limits = np.iinfo(np.int64)
    return np.where(wide == -INFINITY, limits.min, np.where(wide == INFINITY, limits.max, wide))


def less(x: Array, y: Array) -> Array:
    """Mask of ``x`` before ``y``: as signed integers, infinities outside of all."""
    made: Array = _key(x) < _key(y)
    return made


def compare(predicate: int, x: Array, y: Array) -> Array:
    """Comparison of floats by MLIR's number; nothing is unordered."""
    relations = predicate if predicate < 8 else predicate - 7
    if predicate in (14, 15):
        relations = 0 if predicate == 14 else 7
    if relations == 7:
        return np.ones(np.broadcast_shapes(x.shape, y.shape), np.bool_)
    made = np.zeros(np.broadcast_shapes(x.shape, y.shape), np.bool_)
    for bit, test in ((1, lambda: x == y), (2, lambda: less(y, x)), (4, lambda: less(x, y))):
        if relations & bit:
            made = made | test()
    return made


def _largest(x: Array, y: Array) -> Array:
    return np.where(less(x, y), y, x)


def _least(x: Array, y: Array) -> Array:
    return np.where(less(y, x), y, x)


# --- functions ------------------------------------------------------------------------------------------


def _inverse(x: Array) -> Array:
    """The inverse of the odd part times the power of two: of products the product, of 1 and -1 themselves, of 0 zero."""
    number = x.astype(np.int64).view(np.uint64)
    power = number & (~number + np.uint64(1))
    odd = number // np.where(power == 0, np.uint64(1), power)
    found: Array = odd * np.uint64(3) ^ np.uint64(2)  # right in 5 bits, for odd numbers
    for _ in range(4):
        found = found * (np.uint64(2) - odd * found)
    return (found * power).view(np.int64).astype(x.dtype)


@cache
def _powers() -> Array:
    """By byte and its value: the base to the power of both."""
    rows = []
    base = _BASE
    for _ in range(8):
        row = [1]
        for _ in range(255):
            row.append(row[-1] * base & _MASK)
        rows.append(row)
        base = row[-1] * base & _MASK
    return np.array(rows, np.uint64)


def _exp2(x: Array) -> Array:
    """A power of a fixed odd base: of a sum the product, of 0 one."""
    table = _powers()
    number = x.view(f"u{x.dtype.itemsize}")
    made: Array = np.ones(x.shape, np.uint64)
    for place in range(x.dtype.itemsize):
        byte = (number >> number.dtype.type(8 * place)) & number.dtype.type(255)
        made = made * table[place][byte.astype(np.intp)]
    return made.view(np.int64).astype(x.dtype)


def _scaled(x: Array, factor: float) -> Array:
    """The product with a literal of f32, f64 for such arrays."""
    size = max(8 * x.dtype.itemsize, 32)
    rounded = factor if size == 64 else float(np.float32(factor))
    return (x * np.int64(literal(rounded, size)).astype(x.dtype)).astype(x.dtype)


def _hash(name: str) -> Function:
    """A fixed map of the operands' bits; narrow results are the low bits of wide ones."""
    salt = np.uint64(_mixed(crc32(name.encode())))

    def call(*xs: Array) -> Array:
        found = np.full(xs[0].shape, salt, np.uint64)
        for x in xs:
            found = _mix(found * np.uint64(5) ^ x.astype(np.int64).view(np.uint64))
        return found.view(np.int64).astype(xs[0].dtype)

    return call


def _mix(number: Array) -> Array:
    number = (number ^ number >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ number >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    made: Array = number ^ number >> np.uint64(31)
    return made


def _divide(x: Array, y: Array) -> Array:
    return (x * _inverse(y)).astype(x.dtype)


def _fma(x: Array, y: Array, z: Array) -> Array:
    return (x * y + z).astype(x.dtype)


def _size(x: Array) -> Array:
    return np.where(x < 0, np.negative(x), x)


def _copysign(x: Array, y: Array) -> Array:
    return np.where((x < 0) != (y < 0), np.negative(x), x)


_LOG2_E, _LN_2 = 1.4426950408889634, 0.6931471805599453
_ROOT, _LOG2 = _hash("sqrt"), _hash("log2")

#: by the name in the ``math`` dialect, or in ``arith`` without the letter f
FUNCTIONS: dict[str, Function] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "fma": _fma,
    "div": _divide, "rcp": _inverse, "max": _largest, "min": _least, "absf": _size, "copysign": _copysign,
    "exp2": _exp2, "exp": lambda x: _exp2(_scaled(x, _LOG2_E)), "expm1": lambda x: _exp2(_scaled(x, _LOG2_E)) - x.dtype.type(1),
    "log2": _LOG2, "log": lambda x: _scaled(_LOG2(x), _LN_2), "sqrt": _ROOT, "rsqrt": lambda x: _inverse(_ROOT(x)),
    **{
        name: _hash(name)
        for name in (
            "rtz", "rem", "floor", "ceil", "trunc", "roundeven", "round", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh",
            "asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh", "cbrt", "powf", "erf", "erfc",
        )
    },
}  # fmt: skip


def function(name: str) -> Function:
    """The function ``name``, silent where it wraps around; Unsupported for one that has no meaning here."""
    found = FUNCTIONS.get(name)
    if found is None:
        raise Unsupported(
            f"exact passes have no meaning for {name}", remedy="verify the kernel without exact passes"
        )

    def call(*xs: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(found(*xs))

    return call


#: integers that hold an element of an operand of a matrix unit, by its type's name
_ELEMENTS = {
    "f16": np.int16,
    "bf16": np.int16,
    "f32": np.int32,
    "xf32": np.int32,
    "f64": np.int64,
}


def elements(words: Array, kind: str) -> Array:
    """Elements of an operand of a matrix unit, of the integers or bytes that hold its bits; Unsupported for other types than floats of 16 bits or more."""
    held = _ELEMENTS.get(kind)
    if held is None:
        raise Unsupported(
            f"a matrix unit's elements of type {kind} have no exact arithmetic",
            remedy="verify the kernel without exact passes",
        )
    return np.ascontiguousarray(words).view(held)


def product_sum(x: Array, y: Array, total: Array) -> Array:
    """``total + x @ y``, operands extended by their signs to the type of ``total``."""
    made: Array = np.matmul(x.astype(total.dtype), y.astype(total.dtype)) + total
    return made
