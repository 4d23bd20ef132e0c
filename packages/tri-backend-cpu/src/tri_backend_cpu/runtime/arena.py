"""Scratch memory of a thread that runs kernels."""

from __future__ import annotations

import ctypes
import mmap

__all__ = ["Arena"]


class Arena:
    """Memory that grows to what the largest kernel so far needs: page-aligned, its content not kept."""

    def __init__(self) -> None:
        self._memory: mmap.mmap | None = None
        self._view: ctypes.Array[ctypes.c_char] | None = None
        self.size = 0
        #: where it begins; 0 while there is none
        self.address = 0

    def reserve(self, nbytes: int) -> None:
        """Have at least ``nbytes``."""
        if nbytes <= self.size:
            return
        self.size = -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        self._memory = mmap.mmap(-1, self.size)
        self._view = (ctypes.c_char * self.size).from_buffer(self._memory)
        self.address = ctypes.addressof(self._view)
