"""Scratch memory of a thread that runs kernels."""

from __future__ import annotations

import ctypes
import mmap

__all__ = ["HEADER_BYTES", "Arena"]

#: bytes before the scratch memory, where the pool keeps what it has to know of a thread's launch
HEADER_BYTES = max(4096, mmap.PAGESIZE)


class Arena:
    """Memory that grows to what the largest kernel so far needs: page-aligned, its content not kept."""

    def __init__(self) -> None:
        self._memory: mmap.mmap | None = None
        self._view: ctypes.Array[ctypes.c_char] | None = None
        self.size = -1
        #: where it begins; 0 while there is none
        self.address = 0

    def reserve(self, nbytes: int) -> None:
        """Have at least ``nbytes``, behind a header of zeros."""
        if nbytes <= self.size:
            return
        self.size = -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        self._memory = mmap.mmap(-1, HEADER_BYTES + self.size)
        self._view = (ctypes.c_char * (HEADER_BYTES + self.size)).from_buffer(self._memory)
        self.address = ctypes.addressof(self._view) + HEADER_BYTES
