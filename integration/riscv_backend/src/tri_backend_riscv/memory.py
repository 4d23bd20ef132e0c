"""The memory of the devices: a file without a name, mapped here and in every program that runs a kernel."""

from __future__ import annotations

import ctypes
import mmap
import os

from tri_core import forks
from tri_core.api import OutOfResources

__all__ = ["BASE", "BYTES", "SharedMemory"]

#: where programs map it: far from where the emulator puts programs, their stacks and libraries
BASE = 0x10_0000_0000
#: pages that nobody wrote take no memory
BYTES = 1 << 30
_ALIGNMENT = 4096


class SharedMemory:
    """Memory with addresses of the device, from :data:`BASE` on; the first page stays zeros, so that 0 is no address of it."""

    def __init__(self) -> None:
        self.file = os.memfd_create("tri-riscv")
        os.ftruncate(self.file, BYTES)
        self._map = mmap.mmap(self.file, BYTES)
        self._here = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self._free = [(_ALIGNMENT, BYTES)]  # spans of offsets, in order, none next to another
        self._sizes: dict[int, int] = {}
        self._lock = forks.Lock(waits=False)

    def alloc(self, nbytes: int) -> int:
        """The address of ``nbytes`` new bytes, at the start of a page; OutOfResources when there are none."""
        size = max(1, -(-nbytes // _ALIGNMENT)) * _ALIGNMENT
        with self._lock:
            for index, (begin, end) in enumerate(self._free):
                if end - begin >= size:
                    self._free[index : index + 1] = [(begin + size, end)] if end - begin > size else []
                    self._sizes[begin] = size
                    return BASE + begin
            have = max((end - begin for begin, end in self._free), default=0)
        raise OutOfResources(
            f"the device has no {nbytes} bytes in one piece left",
            remedy="free arrays that are not needed",
            resource="memory",
            need=nbytes,
            have=have,
        )

    def free(self, address: int) -> None:
        """Give memory back."""
        with self._lock:
            begin = address - BASE
            spans = sorted([*self._free, (begin, begin + self._sizes.pop(begin))])
            joined = spans[:1]
            for span in spans[1:]:
                if span[0] == joined[-1][1]:
                    joined[-1] = (joined[-1][0], span[1])
                else:
                    joined.append(span)
            self._free = joined

    def copy_in(self, destination: int, source: int, nbytes: int) -> None:
        """Copy from the host."""
        ctypes.memmove(self.here(destination), source, nbytes)

    def copy_out(self, destination: int, source: int, nbytes: int) -> None:
        """Copy to the host."""
        ctypes.memmove(destination, self.here(source), nbytes)

    def here(self, address: int) -> int:
        """Address in this process of the device's ``address``."""
        return self._here + address - BASE

    def write(self, address: int, data: bytes) -> None:
        """Put ``data`` at ``address``."""
        ctypes.memmove(self.here(address), data, len(data))

    def read(self, address: int, nbytes: int) -> bytes:
        """``nbytes`` bytes at ``address``."""
        return ctypes.string_at(self.here(address), nbytes)
