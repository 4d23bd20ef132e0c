"""Memory for code: written while it can't be executed, executed while it can't be written."""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import weakref
from collections.abc import Callable

from tri_core.api import DeviceError

__all__ = ["CodeMemory"]

_READ_EXECUTE = mmap.PROT_READ | mmap.PROT_EXEC


class CodeMemory:
    """``size`` zeroed bytes at ``address``, a private mapping of its own; given back with this object.

    It is not given back when the interpreter ends: threads that Python does not wait for may still run in it.
    """

    def __init__(self, size: int) -> None:
        try:
            made = mmap.mmap(
                -1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE
            )
        except OSError as error:
            raise DeviceError(
                f"there is no memory for {size} bytes of code: {error}",
                remedy="free memory; on Linux, vm.max_map_count bounds the mappings of a process",
            ) from None
        self._mapping = made
        self.size = size
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(made))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
        self._end = weakref.finalize(self, _give_back, made)
        self._end.atexit = False

    @property
    def view(self) -> memoryview:
        """The bytes, to be written before :meth:`seal`."""
        return memoryview(self._mapping)

    def seal(self, fixed: int) -> None:
        """Make the first ``fixed`` bytes, whole pages, read-only and executable; DeviceError where that is forbidden."""
        flush = _flush()
        if flush is not None:
            flush(self.address, self.address + self.size)
        if _libc().mprotect(self.address, fixed, _READ_EXECUTE):
            number = ctypes.get_errno()
            raise DeviceError(
                f"memory cannot be made executable: {os.strerror(number)}",
                remedy="the system's policy (SELinux's execmem, say) must let this process make code",
            )


def _give_back(mapping: mmap.mmap) -> None:
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(mapping))
    mapping.close()


@functools.cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return libc


@functools.cache
def _flush() -> Callable[[int, int], None] | None:
    """A function that makes written instructions visible, (begin, end); None where the hardware does it.

    Where there is none by name, the kernel does it: it synchronises a page that becomes executable for the first time.
    """
    from tri_runtime.loader.symbols import process_symbol

    if os.uname().machine not in ("aarch64", "arm64"):
        return None
    if address := process_symbol("sys_icache_invalidate"):
        invalidate = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(address)
        return lambda begin, end: invalidate(begin, end - begin)
    address = process_symbol("__clear_cache")
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address) if address else None
