"""Unified shared memory: what a host may touch is ordinary memory, what it may not is an address without any.

Memory of a device is reserved, so that the host's access ends the process as on a device of its own; its bytes lie
elsewhere, where copies and the simulator reach them.
"""

from __future__ import annotations

import bisect
import ctypes
import mmap
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_intel.runtime.level_zero.api.enums import MemoryType, Result
from tri_backend_intel.runtime.standin.devices import Context, Device, Fault
from tri_backend_intel.runtime.standin.objects import Refused
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Block", "Usm"]

_Bytes = npt.NDArray[np.uint8]
_PAGE = mmap.PAGESIZE
#: what nobody has written
_UNWRITTEN = 0xA5


def _function(name: str, result: Any, *parameters: Any) -> Any:
    found = getattr(ctypes.CDLL(None, use_errno=True), name)
    found.restype, found.argtypes = result, parameters
    return found


_mmap = _function(
    "mmap",
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
)
_munmap = _function("munmap", ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
_FAILED = ctypes.c_void_p(-1).value


@dataclass(frozen=True, eq=False)
class Block:
    """An allocation: ``data`` is its bytes, ``start`` where kernels and callers see them."""

    context: Context
    kind: MemoryType
    device: Device | None
    start: int
    data: _Bytes
    number: int
    mapping: tuple[int, int]

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
        start, mapping = _mapped(nbytes, max(alignment, _PAGE), readable=readable)
        data = _view(start, nbytes) if readable else np.empty(nbytes, np.uint8)
        data[:] = _UNWRITTEN
        self._numbers += 1
        made = Block(context, kind, device, start, data, self._numbers, mapping)
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
        _munmap(*block.mapping)

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
            return _view(address, nbytes)
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
        """What a kernel on ``device`` reaches: the allocations of ``addresses``, and all of ``kinds``."""
        chosen = {id(b): b for b in map(self.at, addresses) if b is not None}
        chosen |= {id(b): b for b in self._blocks if b.kind in kinds}
        return [
            b
            for b in chosen.values()
            if b.context is context and (b.device is None or b.device.root is device.root or peers)
        ]


def _mapped(nbytes: int, alignment: int, *, readable: bool) -> tuple[int, tuple[int, int]]:
    """An aligned address, and the mapping that it lies in."""
    size = -(-nbytes // _PAGE) * _PAGE + (alignment if alignment > _PAGE else 0)
    rights = mmap.PROT_READ | mmap.PROT_WRITE if readable else 0
    base = _mmap(None, size, rights, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if base is None or base == _FAILED:
        raise Refused(Result.ERROR_OUT_OF_HOST_MEMORY, f"{nbytes} bytes")
    return -(-base // alignment) * alignment, (base, size)


def _view(address: int, nbytes: int) -> _Bytes:
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))
