"""Building blocks of the math expansions."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from tri_core.mlir import ir
from tri_gpu_dialect.lowering.builder import Builder

__all__ = ["horner", "nearest_integer", "scale_by_power_of_two", "split_double", "with_sign_of"]

#: adding it to a small f32 leaves the nearest integer in the low bits
_MAGIC = 1.5 * 2.0**23
_MAGIC_BITS = 0x4B400000


def split_double(value: float) -> tuple[float, float]:
    """``value`` as the sum of two f32."""
    high: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return high, value - high


def horner(b: Builder, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    """The polynomial with these ``coefficients``, the constant first, by fused multiply-adds."""
    total = b.float_(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = b.fma(total, x, b.float_(coefficient))
    return total


def nearest_integer(b: Builder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The integer nearest to ``x`` (below 2**22 in size), as f32 and as i32."""
    shifted = b.fadd(x, b.float_(_MAGIC))
    count = b.sub(b.bitcast(shifted, b.i32), b.int_(_MAGIC_BITS))
    return b.fsub(shifted, b.float_(_MAGIC)), count


def scale_by_power_of_two(b: Builder, x: ir.Value, count: ir.Value) -> ir.Value:
    """``x * 2**count`` in three steps, each of a normal power: right for results that are denormal or infinite.

    ``count`` is at most 370 in size; x is near 1.
    """
    third = b.op("llvm.sdiv", (count, b.int_(3)), b.i32)
    rest = b.sub(count, b.mul(third, b.int_(2)))
    step = _power_of_two(b, third)
    return b.fmul(b.fmul(b.fmul(x, step), step), _power_of_two(b, rest))


def _power_of_two(b: Builder, count: ir.Value) -> ir.Value:
    return b.bitcast(b.shl(b.add(count, b.int_(127)), 23), b.f32)


def with_sign_of(b: Builder, magnitude: ir.Value, sign: ir.Value) -> ir.Value:
    """``magnitude`` (not negative) with the sign of ``sign``."""
    bit = b.and_(b.bitcast(sign, b.i32), b.int_(-(1 << 31)))
    return b.bitcast(b.or_(b.bitcast(magnitude, b.i32), bit), b.f32)
