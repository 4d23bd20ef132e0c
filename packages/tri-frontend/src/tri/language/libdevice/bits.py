"""Integers and bits, written with the operators of the language."""

# mypy: allow-untyped-defs, no-check-untyped-defs, disable-error-code="assignment"

from __future__ import annotations

from tri.jit import jit
from tri.language import types as t
from tri.language.builtin import constexpr_function
from tri.language.constexpr import constexpr
from tri.language.loops import static_range
from tri.language.math import abs as magnitude
from tri.language.math import umulhi
from tri.language.selection import where

__all__ = [
    "absolute", "bitcast_to", "brev", "byte_perm", "clz", "ffs", "half_sum", "hiloint2double", "mul24", "mulhi", "popc",
    "sad", "word_of",
]  # fmt: skip


@constexpr_function
def unsigned_of(dtype: t.dtype) -> t.dtype:
    """The unsigned integer of the width of ``dtype``."""
    return t.dtype(f"uint{dtype.primitive_bitwidth}")


@constexpr_function
def is_signed(dtype: t.dtype) -> bool:
    """True if ``dtype`` is a signed integer."""
    return dtype.is_int_signed()


@constexpr_function
def repeated(byte: int, dtype: t.dtype) -> int:
    """``byte`` in every byte of an integer."""
    return int.from_bytes(bytes([byte]) * dtype.itemsize, "little")


@constexpr_function
def swaps(dtype: t.dtype) -> list[tuple[int, int]]:
    """The widths of neighbours that bit reversal exchanges, each with the mask of the lower ones."""
    bits = dtype.primitive_bitwidth
    widths = [1 << i for i in range(bits.bit_length() - 1)]
    return [(w, sum(((1 << w) - 1) << i for i in range(0, bits, 2 * w))) for w in widths]


@jit
def absolute(x):
    """``|x|``."""
    return magnitude(x)


@jit
def bitcast_to(x, dtype: constexpr):
    """The bits of ``x`` as ``dtype``."""
    return x.to(dtype, bitcast=True)


@jit
def brev(x):
    """The bits in reverse order."""
    y = x.to(unsigned_of(x.dtype), bitcast=True)
    steps: constexpr = swaps(x.dtype)
    for i in static_range(len(steps)):
        y = ((y >> steps[i][0]) & steps[i][1]) | ((y & steps[i][1]) << steps[i][0])
    return y.to(x.dtype, bitcast=True)


@jit
def popc(x):
    """Number of set bits: sums of neighbouring pairs, fours, bytes, then of all bytes by a product."""
    y = x.to(unsigned_of(x.dtype), bitcast=True)
    y = y - ((y >> 1) & repeated(0x55, x.dtype))
    y = (y & repeated(0x33, x.dtype)) + ((y >> 2) & repeated(0x33, x.dtype))
    y = (y + (y >> 4)) & repeated(0x0F, x.dtype)
    return ((y * repeated(0x01, x.dtype)) >> (x.dtype.primitive_bitwidth - 8)).to(t.int32)


@jit
def clz(x):
    """Number of zero bits above the highest set bit: those that remain zero when it is spread downwards."""
    y = x.to(unsigned_of(x.dtype), bitcast=True)
    steps: constexpr = swaps(x.dtype)
    for i in static_range(len(steps)):
        y = y | (y >> steps[i][0])
    return x.dtype.primitive_bitwidth - popc(y)


@jit
def ffs(x):
    """The place of the lowest bit that is set, from 1; 0 when there is none."""
    lowest = x & -x
    return where(x == 0, 0, x.dtype.primitive_bitwidth - clz(lowest))


@jit
def byte_of(low, high, selector):
    """The byte that three bits of ``selector`` choose among eight."""
    shift = (selector & 3) * 8
    return (where((selector & 4) != 0, high, low) >> shift) & 0xFF


@jit
def byte_perm(x, y, s):
    """Four bytes out of the eight of ``x`` (0 to 3) and ``y`` (4 to 7), chosen by the nibbles of ``s``."""
    low, high = x.to(t.uint32, bitcast=True), y.to(t.uint32, bitcast=True)
    sel = s.to(t.uint32, bitcast=True)
    r = byte_of(low, high, sel) | (byte_of(low, high, sel >> 4) << 8)
    r = r | (byte_of(low, high, sel >> 8) << 16) | (byte_of(low, high, sel >> 12) << 24)
    return r.to(t.int32, bitcast=True)


@jit
def mulhi(x, y):
    """The high half of the product; of signed numbers, the unsigned one corrected for each negative factor."""
    high = umulhi(x.to(unsigned_of(x.dtype), bitcast=True), y.to(unsigned_of(x.dtype), bitcast=True))
    high = high.to(x.dtype, bitcast=True)
    if is_signed(x.dtype):
        high = high - where(x < 0, y, 0) - where(y < 0, x, 0)
    return high


@jit
def mul24(x, y):
    """The low 32 bits of the product of the low 24 bits."""
    return ((x << 8) >> 8) * ((y << 8) >> 8)


@jit
def half_sum(x, y, up: constexpr):
    """``(x + y) / 2`` without overflow, rounded down, or up."""
    return (x | y) - ((x ^ y) >> 1) if up else (x & y) + ((x ^ y) >> 1)


@jit
def sad(x, y, z):
    """``|x - y| + z``."""
    return (where(x > y, x - y, y - x).to(t.uint32) + z).to(x.dtype)


@jit
def hiloint2double(high, low):
    """The fp64 whose halves are ``high`` and ``low``."""
    bits = (high.to(t.int64) << 32) | low.to(t.uint32, bitcast=True).to(t.int64)
    return bits.to(t.float64, bitcast=True)


@jit
def word_of(x, high: constexpr):
    """The upper or lower half of an fp64's bits."""
    bits = x.to(t.int64, bitcast=True)
    return (bits >> 32).to(t.int32) if high else bits.to(t.int32)
