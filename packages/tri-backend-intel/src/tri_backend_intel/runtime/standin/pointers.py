"""Reading and writing what callers point to."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, TypeVar

from tri_backend_intel.runtime.level_zero.api.enums import Result
from tri_backend_intel.runtime.standin.objects import Refused

__all__ = ["at", "put", "put_bytes", "put_handles", "put_listed", "text_at"]

_T = TypeVar("_T", bound=ctypes.Structure)


def _checked(address: int | None) -> int:
    if not address:
        raise Refused(Result.ERROR_INVALID_NULL_POINTER)
    return address


def at(kind: type[_T], address: int | None) -> _T:
    """The structure of ``kind`` at ``address``; Refused when that is null."""
    return kind.from_address(_checked(address))


def put(kind: type[Any], address: int | None, value: int) -> None:
    """Write the number ``value`` to ``address``."""
    kind.from_address(_checked(address)).value = value


def put_handles(count: int | None, out: int | None, handles: Sequence[int]) -> None:
    """Answer a call that is asked twice: how many there are, and ``handles`` as far as the caller has room."""
    number = ctypes.c_uint32.from_address(_checked(count))
    if number.value == 0 or out is None:
        number.value = len(handles)
        return
    number.value = min(number.value, len(handles))
    places = (ctypes.c_void_p * number.value).from_address(out)
    places[:] = list(handles[: number.value])


def put_listed(count: int | None, out: int | None, kind: type[_T], values: Sequence[dict[str, Any]]) -> None:
    """The same of structures, whose fields are written."""
    number = ctypes.c_uint32.from_address(_checked(count))
    if number.value == 0 or out is None:
        number.value = len(values)
        return
    number.value = min(number.value, len(values))
    for place, fields in zip((kind * number.value).from_address(out), values, strict=False):
        for name, value in fields.items():
            setattr(place, name, value)


def put_bytes(size: int | None, out: int | None, data: bytes) -> None:
    """Answer a call that is asked twice for bytes: how many there are, and those that the caller has room for."""
    number = ctypes.c_size_t.from_address(_checked(size))
    if number.value and out:
        ctypes.memmove(out, data, min(number.value, len(data)))
    number.value = len(data)


def text_at(address: int | None) -> str:
    """The text at ``address``; empty when that is null."""
    return ctypes.string_at(address).decode() if address else ""
