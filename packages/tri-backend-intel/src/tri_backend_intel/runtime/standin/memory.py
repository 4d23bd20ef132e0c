"""Unified shared memory: what a host may touch is ordinary memory, what it may not is an address without any.

Memory of a device is reserved, so that the host's access ends the process as on a device of its own; its bytes lie
elsewhere, where copies and the simulator reach them.
"""

from __future__ import annotations

import bisect
import mmap
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from tri_backend_intel.runtime.level_zero.api.enums import MemoryType, Result
from tri_backend_intel.runtime.standin.devices import Context, Device, Fault
from tri_backend_intel.runtime.standin.objects import Refused
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.simulator.reserved import Reserved, release, reserve, view

__all__ = ["Block", "Usm"]

_Bytes = npt.NDArray[np.uint8]
#: what nobody has written
_UNWRITTEN = 0xA5


@dataclass(frozen=True, eq=False)
class Block:
    """An allocation: ``data`` is its bytes, ``start`` where kernels and callers see them."""

    context: Context
    kind: MemoryType
    device: Device | None
    start: int
    data: _Bytes
    number: int
    reserved: Reserved

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.start + self.data.size


class Usm:
    """All allocations, by address."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._blocks: list[Block] = []
        self._numbers = 0

    def __iter__(self) -> Iterator[Block]:
        return iter(self._blocks)

    def allocate(
        self, context: Context, kind: MemoryType, device: Device | None, nbytes: int, alignment: int
    ) -> Block:
        """``nbytes`` aligned to ``alignment``; Refused where there are none."""
        if nbytes <= 0:
            raise Refused(Result.ERROR_UNSUPPORTED_SIZE, f"an allocation of {nbytes} bytes")
        if alignment & (alignment - 1):
            raise Refused(Result.ERROR_UNSUPPORTED_ALIGNMENT, f"an alignment of {alignment}")
        if device is not None:
            context.check(device)
            device.check()
            self._charge(device.root, nbytes)
        readable = kind != MemoryType.DEVICE
        reserved = reserve(nbytes, max(alignment, mmap.PAGESIZE), readable=readable)
        if reserved is None:
            raise Refused(Result.ERROR_OUT_OF_HOST_MEMORY, f"{nbytes} bytes")
        start = reserved.start
        data = view(start, nbytes) if readable else np.empty(nbytes, np.uint8)
        data[:] = _UNWRITTEN
        self._numbers += 1
        made = Block(context, kind, device, start, data, self._numbers, reserved)
        place = bisect.bisect(self._starts, start)
        self._starts.insert(place, start)
        self._blocks.insert(place, made)
        return made

    @staticmethod
    def _charge(device: Device, nbytes: int) -> None:
        if device.used + nbytes > device.configuration.memory:
            left = device.configuration.memory - device.used
            raise Refused(Result.ERROR_OUT_OF_DEVICE_MEMORY, f"{nbytes} bytes of {left} that are left")
        device.used += nbytes

    def free(self, context: Context, address: int) -> None:
        """Give back the allocation that begins at ``address``; Refused when none of ``context`` does."""
        block = self.at(address)
        if block is None or block.start != address or block.context is not context:
            raise Refused(
                Result.ERROR_INVALID_ARGUMENT, f"no allocation of the context begins at {address:#x}"
            )
        place = self._starts.index(address)
        del self._starts[place], self._blocks[place]
        if block.device is not None:
            block.device.root.used -= block.data.size
        release(block.reserved)

    def at(self, address: int) -> Block | None:
        """The allocation that has ``address``."""
        place = bisect.bisect(self._starts, address) - 1
        if place < 0 or address >= self._blocks[place].end:
            return None
        return self._blocks[place]

    def bytes_at(self, address: int, nbytes: int) -> _Bytes:
        """``nbytes`` at ``address``, of an allocation or of the host's other memory; Fault beyond an allocation's end."""
        block = self.at(address)
        if block is None:
            return view(address, nbytes)
        if address + nbytes > block.end:
            raise Fault(f"a copy of {nbytes} bytes at {address:#x} leaves an allocation of {block.data.size}")
        first = address - block.start
        return block.data[first : first + nbytes]

    def reached(
        self,
        context: Context,
        device: Device,
        addresses: Iterable[int],
        kinds: frozenset[MemoryType],
        *,
        peers: bool,
    ) -> list[Block]:
        """Allocations that a kernel on ``device`` reaches: those of ``addresses``, and all of ``kinds``."""
        chosen = {id(b): b for b in map(self.at, addresses) if b is not None}
        chosen |= {id(b): b for b in self._blocks if b.kind in kinds}
        return [
            b
            for b in chosen.values()
            if b.context is context and (b.device is None or b.device.root is device.root or peers)
        ]
