"""Ranges of addresses for a stand-in's memory: a host that touches a device's ends as it would with a device of its own."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.lazy_dataclasses import dataclass

__all__ = ["Reserved", "release", "reserve", "view"]

_PAGE = mmap.PAGESIZE


def _function(name: str, result: Any, *parameters: Any) -> Any:
    found = getattr(ctypes.CDLL(None, use_errno=True), name)
    found.restype, found.argtypes = result, parameters
    return found


_mmap = _function(
    "mmap", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
)  # fmt: skip
_munmap = _function("munmap", ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
_FAILED = ctypes.c_void_p(-1).value


@dataclass(frozen=True)
class Reserved:
    """An aligned address ``start``, and the mapping that it lies in: ``base`` and ``size`` bytes."""

    start: int
    base: int
    size: int


def reserve(nbytes: int, alignment: int, *, readable: bool) -> Reserved | None:
    """``nbytes`` at a multiple of ``alignment``, which the host reads and writes only where ``readable``; None where there are none."""
    size = -(-nbytes // _PAGE) * _PAGE + (alignment if alignment > _PAGE else 0)
    rights = mmap.PROT_READ | mmap.PROT_WRITE if readable else 0
    base = _mmap(None, size, rights, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if base is None or base == _FAILED:
        return None
    return Reserved(-(-base // alignment) * alignment, base, size)


def release(reserved: Reserved) -> None:
    """Give ``reserved`` back."""
    _munmap(reserved.base, reserved.size)


def view(address: int, nbytes: int) -> npt.NDArray[np.uint8]:
    """``nbytes`` of the host's memory at ``address``."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))
