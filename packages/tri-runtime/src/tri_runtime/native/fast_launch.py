"""The callable of a kernel: compiled code that does the launches it has records of, and asks a Python function for all others."""

from __future__ import annotations

import ctypes
import functools
import logging
import platform
import struct
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

from tri_core import forks
from tri_core.api import DeviceError
from tri_runtime.loader import load_ir
from tri_runtime.native.code import CODE, Entry
from tri_runtime.native.layouts import STATE
from tri_runtime.native.records import Call

__all__ = ["FastLaunches", "available"]

logger = logging.getLogger(__name__)

_FASTCALL_WITH_KEYWORDS = 0x80 | 0x02


class _Method(ctypes.Structure):
    """``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def _suits() -> bool:
    """CPython with its lock, on a machine of 64 bits whose integers begin with the low byte."""
    return (
        platform.python_implementation() == "CPython"
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
        and struct.calcsize("P") == 8
        and sys.byteorder == "little"
    )


@functools.cache
def _loaded() -> tuple[dict[Entry, _Method], object] | None:
    """The launcher's code as methods, and what keeps it in memory; None where it cannot be had.

    It is compiled in this process: it is the same text in every process, and known to compile, so that LLVM does not end here.
    """
    if not _suits():
        return None
    try:
        library = load_ir(CODE, [entry.value for entry in Entry], opt_level=2)
    except (ImportError, OSError, RuntimeError, DeviceError) as error:
        logger.info("launches stay in Python: %s: %s", type(error).__name__, error)
        return None
    methods = {
        entry: _Method(entry.name.lower().encode(), address, _FASTCALL_WITH_KEYWORDS, None)
        for entry, address in zip(Entry, library.addresses, strict=True)
    }
    return methods, library


def available() -> bool:
    """True if compiled launches work here; compiles the code at the first call, in 0.1 s."""
    return _loaded() is not None


class FastLaunches:
    """Launches of one kernel: ``call(grid, *arguments, **keywords)``, done in compiled code where a record fits.

    ``entry`` says how ``call`` is called.
    ``otherwise`` is called with the same arguments where none does, and where the driver refuses: it does the whole launch and explains.
    Only where :func:`available`.  Compiled code reads the table while it holds Python's lock; a record that is in use is kept until that
    launch ends.
    """

    def __init__(self, otherwise: Callable[..., Any], entry: Entry = Entry.GRID) -> None:
        loaded = _loaded()
        if loaded is None:
            raise RuntimeError("launches cannot be done in compiled code here")
        self._otherwise, self._code = otherwise, loaded
        self._lock = forks.Lock()
        self._calls: tuple[Call, ...] = ()
        self._table = (ctypes.c_void_p * 1)()
        self._state = bytearray(self._packed(0))
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
        #: the callable; it holds this object
        self.call: Callable[..., Any] = make(ctypes.addressof(loaded[0][entry]), self._state, self)

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, call: Call) -> None:
        """Do calls like this one in compiled code from now on."""
        with self._lock:
            self._replace((*self._calls, call))

    def clear(self) -> None:
        """Forget all records."""
        with self._lock:
            self._replace(())

    def _packed(self, count: int) -> bytes:
        """The table with ``count`` calls, as the code reads it."""
        calls, otherwise = ctypes.addressof(self._table), id(self._otherwise)
        return STATE.pack(count=count, calls=calls, otherwise=otherwise, none=id(None))

    def _replace(self, calls: tuple[Call, ...]) -> None:
        """No launch sees a number with a table of another: it is 0 meanwhile."""
        table = (ctypes.c_void_p * max(len(calls), 1))(*[call.record for call in calls])
        before = self._calls, self._table
        self._state[:] = self._packed(0)
        self._calls, self._table = calls, table
        self._state[:] = self._packed(len(calls))
        del before
