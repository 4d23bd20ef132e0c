"""USM: memory of a device, of the host, and shared ones (Level Zero specification, "Memory")."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from tri_backend_intel.runtime.level_zero.api import (
    DeviceMemAllocDesc,
    HostMemAllocDesc,
    MemoryAllocationProperties,
    MemoryType,
    Result,
)
from tri_backend_intel.runtime.level_zero.errors import error
from tri_core.api import OutOfResources

if TYPE_CHECKING:
    from tri_backend_intel.runtime.level_zero.queue import ZeQueue

__all__ = ["ZeMemory"]

_ALIGNMENT = 256
_FULL = (Result.ERROR_OUT_OF_DEVICE_MEMORY, Result.ERROR_OUT_OF_HOST_MEMORY, Result.ERROR_UNSUPPORTED_SIZE)


class ZeMemory:
    """Memory in a queue's context, as :class:`tri_runtime.DeviceMemory`; every kind is freed by :meth:`free`."""

    def __init__(self, queue: ZeQueue) -> None:
        self._queue = queue
        self._loader = queue.loader

    def alloc(self, nbytes: int) -> int:
        """The address of ``nbytes`` new bytes of the device; OutOfResources when there are none."""
        desc = ctypes.byref(DeviceMemAllocDesc.new())
        return self._made("zeMemAllocDevice", nbytes, (desc,), (self._queue.ze_device.handle,))

    def alloc_host(self, nbytes: int) -> int:
        """The address of ``nbytes`` new bytes of the host that the device reads and writes in place."""
        return self._made("zeMemAllocHost", nbytes, (ctypes.byref(HostMemAllocDesc.new()),), ())

    def alloc_shared(self, nbytes: int) -> int:
        """The address of ``nbytes`` new bytes that move to who uses them."""
        descs = ctypes.byref(DeviceMemAllocDesc.new()), ctypes.byref(HostMemAllocDesc.new())
        return self._made("zeMemAllocShared", nbytes, descs, (self._queue.ze_device.handle,))

    def kind(self, address: int) -> MemoryType:
        """Memory type of ``address``, ``UNKNOWN`` for memory that this context did not allocate."""
        found = MemoryAllocationProperties.new()
        self._loader("zeMemGetAllocProperties", self._queue.context, address, ctypes.byref(found), None)
        return MemoryType(found.type)

    def free(self, address: int) -> None:
        """Give ``address`` back once the queue's work is done: the driver does not wait."""
        self._queue.retire(address)
        self._queue.wait()

    def copy_in(self, destination: int, source: int, nbytes: int) -> None:
        """Copy host bytes to the device; returns when ``source`` may be changed."""
        self._queue.copy(destination, source, nbytes)
        self._queue.wait()

    def copy_out(self, destination: int, source: int, nbytes: int) -> None:
        """Copy device bytes to the host; returns when they are there."""
        self._queue.copy(destination, source, nbytes)
        self._queue.wait()

    def _made(self, function: str, nbytes: int, descs: tuple[object, ...], device: tuple[int, ...]) -> int:
        address = ctypes.c_void_p()
        status = self._loader.status(
            function, self._queue.context, *descs, max(nbytes, 1), _ALIGNMENT, *device, ctypes.byref(address)
        )
        if status in _FULL:
            raise OutOfResources(
                f"{self._queue.ze_device.name} has no {nbytes} bytes left",
                remedy="free arrays that are not needed",
                resource="memory",
                need=nbytes,
                have=0,
            )
        if status:
            raise error(function, status)
        made, context, loader = address.value or 0, self._queue.context, self._loader
        return self._queue.own(made, lambda: loader.status("zeMemFree", context, made))
