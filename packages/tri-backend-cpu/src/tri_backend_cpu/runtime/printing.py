"""What kernels print, as text."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Sequence
from typing import Any

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
    """``pid (0, 0, 0) idx (1, 2) prefix: value, value``."""
    numbers = []
    for index, name in enumerate(record["types"]):
        signed = record["signed"][index] if index < len(record["signed"]) else True
        numbers.append(
            _number(raw[8 * index : 8 * index + 8], name, signed=signed, hexadecimal=record["hex"])
        )
    place = f" idx {_unravel(element, record['shape'])}" if record["shape"] is not None else ""
    return f"pid {program}{place}{record['prefix']}{', '.join(numbers)}\n"


def _number(raw: bytes, type_: str, *, signed: bool, hexadecimal: bool) -> str:
    if type_ == "ptr":
        return hex(struct.unpack("=Q", raw)[0])
    if not type_.startswith("i"):
        return str(struct.unpack("=d", raw)[0])
    bits = int(type_[1:])
    value = struct.unpack("=Q", raw)[0] & ((1 << bits) - 1)
    if hexadecimal:
        return f"0x{value:0{-(-bits // 4)}x}"
    return str(value - (1 << bits) if signed and bits > 1 and value >> (bits - 1) else value)


def _unravel(element: int, shape: Sequence[int]) -> tuple[int, ...]:
    places: list[int] = []
    for extent in reversed(shape):
        element, place = divmod(element, extent)
        places.append(place)
    return tuple(reversed(places))
