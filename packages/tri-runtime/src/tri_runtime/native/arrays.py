"""Arrays through DLPack's exchange API: address, dtype, device and current stream by plain calls, without Python objects.

DLPack 1.3, ``DLPackExchangeAPI`` (``dlpack.h``): a class has a capsule ``__dlpack_c_exchange_api__``, which lives as long as the process.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from tri_core.lazy_dataclasses import dataclass
from tri_runtime.native.layouts import TENSOR

__all__ = ["ArrayFacts", "Exchange", "exchange_of"]

_CAPSULE = b"dlpack_exchange_api"
_MAJOR = 1


class _Table(ctypes.Structure):
    """``DLPackExchangeAPI``: version, the API of an older version, functions."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("before", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("managed_from_object", ctypes.c_void_p),
        ("managed_to_object", ctypes.c_void_p),
        ("read", ctypes.c_void_p),
        ("current_stream", ctypes.c_void_p),
    )


@dataclass(frozen=True)
class ArrayFacts:
    """An array as DLPack shows it: ``device`` (kind, and index above) and ``dtype`` (code, bits, lanes) as one number each."""

    address: int
    device: int
    dtype: int


@dataclass(frozen=True)
class Exchange:
    """The functions of a class of arrays, by address: ``read(object, DLTensor *)``, ``current_stream(kind, index, void **)``."""

    read: int
    current_stream: int

    def look(self, array: Any) -> ArrayFacts:
        """``array`` as :attr:`read` shows it; the library's exception for what DLPack cannot say."""
        found = TENSOR.structure()
        read = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(self.read)
        read(array, ctypes.addressof(found))  # raises what it set
        return ArrayFacts(found.data + found.byte_offset, found.device, found.dtype)

    def stream(self, device: int) -> int:
        """The current stream of the device that DLPack numbers ``device``."""
        found = ctypes.c_void_p()
        ask = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(
            self.current_stream
        )
        ask(device & 0xFFFFFFFF, device >> 32, ctypes.addressof(found))
        return found.value or 0


@functools.cache
def exchange_of(cls: type) -> Exchange | None:
    """Exchange API of ``cls`` itself, or None: older libraries have none, and some omit parts that are needed
    here.
    """
    capsule = getattr(cls, "__dlpack_c_exchange_api__", None)
    if type(capsule).__name__ != "PyCapsule":
        return None
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = _Table.from_address(pointer(capsule, _CAPSULE))
    while table.major != _MAJOR and table.before:
        table = _Table.from_address(table.before)
    if table.major != _MAJOR or not table.read or not table.current_stream:
        return None
    return Exchange(table.read, table.current_stream)
