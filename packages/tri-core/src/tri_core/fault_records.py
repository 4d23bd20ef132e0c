"""Record of the first failed assertion, the format shared by kernel and host, and its error.

A kernel is given the address of a *slot* in memory of its device: the address of the record (8 bytes, 0: there is none), whether a
thread writes it (4 bytes), and whether it is written (4 bytes, where others wait for that).  The record is in memory of the host, which
can be read when the device is lost.
"""

from __future__ import annotations

import ctypes
import linecache
import struct
from collections.abc import Mapping

from tri_core.errors import KernelFault, SourceLocation
from tri_core.lazy_dataclasses import dataclass

__all__ = ["ASSERTIONS", "RECORD_BYTES", "SLOT_BYTES", "TAKEN_OFFSET", "Site", "Watched", "sites_of"]

#: of a record: the site plus one (16 bits), the thread (16), the program's x (32), y plus one (16), z plus one (16)
RECORD_BYTES = 16
#: of a slot, and where in it is whether a thread writes the record
SLOT_BYTES, TAKEN_OFFSET = 16, 8
#: the attribute of images that lists the assertions: message, file and line of each, by number
ASSERTIONS = "assertions"


@dataclass(frozen=True)
class Site:
    """An assertion in the source of a kernel."""

    message: str
    file: str
    line: int


def sites_of(attrs: Mapping[str, object]) -> tuple[Site, ...]:
    """The assertions of an image with attributes ``attrs``."""
    given = attrs.get(ASSERTIONS)
    if not isinstance(given, list | tuple):
        return ()
    return tuple(Site(str(message), str(file), int(line)) for message, file, line in given)


@dataclass(frozen=True)
class Watched:
    """The record at ``address``, in memory of this process, that ``kernel`` writes the number of one of ``sites`` to."""

    kernel: str
    sites: tuple[Site, ...]
    address: int

    def clear(self) -> None:
        """Nothing has failed."""
        ctypes.memset(self.address, 0, RECORD_BYTES)

    def fault(self, said: str, remedy: str, kernels: tuple[str, ...] = ()) -> KernelFault | None:
        """The failure that is written there, None where none is; ``said`` is what the driver adds in words."""
        low, x, rest = struct.unpack("<3I4x", ctypes.string_at(self.address, RECORD_BYTES))
        number, thread = (low & 0xFFFF) - 1, low >> 16
        if not 0 <= number < len(self.sites):
            return None
        site, program = self.sites[number], (x, (rest & 0xFFFF) - 1, (rest >> 16) - 1)
        place = f"program {program}, thread {thread}" + (f"; {said}" if said else "")
        text = linecache.getline(site.file, site.line).rstrip("\n")
        return KernelFault(
            f"device-side assertion failed in kernel {self.kernel!r}: {site.message} ({place})",
            remedy=remedy,
            location=SourceLocation(site.file, site.line, len(text) - len(text.lstrip()), text or None),
            kernel=self.kernel,
            kernels=kernels,
            program=program,
            thread=thread,
        )
