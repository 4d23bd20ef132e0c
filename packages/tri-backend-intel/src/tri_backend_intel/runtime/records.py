"""Records of assertions on a device of Intel's: memory that kernels write to, and looking there when they are done."""

from __future__ import annotations

import ctypes
import struct
from typing import Protocol

from tri_core.api import HiddenParameters, KernelFault, KernelImage, Parameter
from tri_core.fault_records import RECORD_BYTES, SLOT_BYTES, Watched, sites_of
from tri_core.lazy_dataclasses import dataclass

__all__ = ["RecordMemory", "Records", "parameters_of"]

_REMEDY = "correct what the kernel is given; the device goes on, and what the kernel would have written is not all there"


def parameters_of(image: KernelImage) -> tuple[Parameter, ...]:
    """Parameters of a launch: the kernel's own and the hidden ones."""
    metadata = image.metadata
    return (*metadata.signature.parameters, *HiddenParameters.from_attrs(metadata.attrs).parameters)


class RecordMemory(Protocol):
    """Memory of a device in use, and memory of the host that the device writes to; it lasts as long as the device is in use."""

    def alloc(self, nbytes: int) -> int:
        """The address of new bytes of the device."""
        ...

    def alloc_host(self, nbytes: int) -> int:
        """The address of new bytes of the host."""
        ...

    def copy_in(self, destination: int, source: int, nbytes: int) -> None:
        """Copy host bytes to the device; returns when ``source`` may be changed."""
        ...


@dataclass(frozen=True)
class _Entry:
    watched: Watched
    slot: int
    memory: RecordMemory

    def open(self) -> None:
        """Let a thread write the record; the kernel does not run meanwhile."""
        self.watched.clear()
        words = ctypes.create_string_buffer(struct.pack("<QQ", self.watched.address, 0), SLOT_BYTES)
        self.memory.copy_in(self.slot, ctypes.addressof(words), SLOT_BYTES)


class Records:
    """The records of the kernels on one device, which are looked at when what it ran is done."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []

    def arguments(self, image: KernelImage, memory: RecordMemory) -> tuple[int, ...]:
        """The values of the hidden parameters of the kernel of ``image``, the same for all launches by one launcher."""
        metadata = image.metadata
        if not HiddenParameters.from_attrs(metadata.attrs).record:
            return ()
        watched = Watched(metadata.name, sites_of(metadata.attrs), memory.alloc_host(RECORD_BYTES))
        entry = _Entry(watched, memory.alloc(SLOT_BYTES), memory)
        entry.open()
        self._entries.append(entry)
        return (entry.slot,)

    def check(self, lost: KernelFault | None = None) -> None:
        """Raise the KernelFault of a record that was written; all that ran is done.

        ``lost``: the device was lost, which the driver said with this error.
        """
        for entry in self._entries:
            if lost is not None:
                fault = entry.watched.fault(lost.message, lost.remedy or _REMEDY)
            elif (fault := entry.watched.fault("", _REMEDY)) is not None:
                entry.open()
            if fault is not None:
                raise fault from lost
