"""Functions of libraries that the process has loaded, by name."""

from __future__ import annotations

import ctypes
import functools

__all__ = ["process_symbol"]

#: libraries that compiled code may call and a program need not have loaded for all to see
_LIBRARIES = ("libm.so.6", "libgcc_s.so.1")


def process_symbol(name: str) -> int | None:
    """The address of ``name`` in the program, its libraries, or those of the C compiler; None if it is in none."""
    for library in _libraries():
        try:
            return ctypes.cast(library[name], ctypes.c_void_p).value
        except (AttributeError, ValueError):
            continue
    return None


@functools.cache
def _libraries() -> list[ctypes.CDLL]:
    found = [ctypes.CDLL(None)]
    for name in _LIBRARIES:
        try:
            found.append(ctypes.CDLL(name))
        except OSError:
            continue
    return found
