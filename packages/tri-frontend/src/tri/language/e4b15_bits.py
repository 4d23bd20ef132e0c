"""The bits of ``fp8e4b15``: see :mod:`tri.language.e4b15`."""

from __future__ import annotations

import struct

__all__ = ["LARGEST", "SHIFT", "SIGN", "encode_e4b15"]

#: mantissa bits that fp16 has more
SHIFT = 7
#: 1.75 as fp16
LARGEST = 0x3F00
SIGN = 0x80


def encode_e4b15(value: float) -> int:
    """The byte of ``value``."""
    if value != value:
        return LARGEST >> SHIFT
    sign = struct.pack(">d", value)[0] & SIGN
    toward_zero = min(abs(value), 2.0)
    bits = _half_toward_zero(toward_zero)
    return sign | (min(bits, LARGEST) + (1 << (SHIFT - 1))) >> SHIFT


def _half_toward_zero(value: float) -> int:
    """The bits of a number of at most 2 as fp16, toward zero."""
    (bits,) = struct.unpack("<H", struct.pack("<e", value))
    (back,) = struct.unpack("<e", struct.pack("<H", bits))
    return int(bits) - (back > value)
