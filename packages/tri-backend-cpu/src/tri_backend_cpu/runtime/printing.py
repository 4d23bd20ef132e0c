"""Output of kernels' prints, as text."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Sequence
from typing import Any

from tri_core.printing import NARROWEST_FLOAT, hexadecimal, hexadecimal_float, line_format

__all__ = ["Printer"]

_KIND = ctypes.CFUNCTYPE(
    None, ctypes.c_int64, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p
)


class Printer:
    """A C function for the task's printer field, at ``address`` (0 for a kernel that prints nothing).

    It lives as long as this object.
    """

    def __init__(self, sites: Sequence[dict[str, Any]]) -> None:
        self._sites = sites
        self._function = _KIND(self._print) if sites else None
        self.address = (
            0 if self._function is None else ctypes.cast(self._function, ctypes.c_void_p).value or 0
        )

    def _print(self, site: int, x: int, y: int, z: int, element: int, values: int) -> None:
        record = self._sites[site]
        count = len(record["types"])
        raw = ctypes.string_at(values, 8 * count) if count else b""
        sys.stdout.write(_line(record, (x, y, z), element, raw))


def _line(record: dict[str, Any], program: tuple[int, int, int], element: int, raw: bytes) -> str:
    """The line of one element: a record prints one value, or none."""
    operand, count = record["operand"]
    text = line_format(record["prefix"], count, operand, record["shape"])
    values = []
    if record["types"]:
        signed = all(record["signed"])
        value = _number(raw, record["types"][0], record["bits"][0], signed=signed, in_bits=record["hex"])
        values = [*_unravel(element, record["shape"]), value]
    return text.format(*program, *values) + "\n"


def _number(raw: bytes, type_: str, bits: int, *, signed: bool, in_bits: bool) -> str:
    word: int = struct.unpack("=Q", raw)[0]
    if type_ == "ptr":
        return hexadecimal(word, 64)
    if not type_.startswith("i"):
        if in_bits and bits < NARROWEST_FLOAT:
            return hexadecimal(word, bits)
        number = struct.unpack("=d", raw)[0]
        return hexadecimal_float(number) if in_bits else f"{number:f}"
    value = word & ((1 << bits) - 1)
    if in_bits:
        return hexadecimal(value, bits)
    return str(value - (1 << bits) if signed and bits > 1 and value >> (bits - 1) else value)


def _unravel(element: int, shape: Sequence[int]) -> tuple[int, ...]:
    places: list[int] = []
    for extent in reversed(shape):
        element, place = divmod(element, extent)
        places.append(place)
    return tuple(reversed(places))
