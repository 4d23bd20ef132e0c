"""Device memory of a queue's device (USM device allocations)."""

from __future__ import annotations

from collections.abc import Callable

from tri_backend_intel.runtime.queues import DeviceQueue
from tri_backend_intel.runtime.sycl import Sycl
from tri_core.api import OutOfResources

__all__ = ["UsmMemory"]


class UsmMemory:
    """USM device memory as :class:`tri_runtime.DeviceMemory`; USM is aligned to a page."""

    def __init__(self, sycl: Sycl, queue: DeviceQueue) -> None:
        self._sycl = sycl
        self._queue = queue

    def alloc(self, nbytes: int) -> int:
        """The address of ``nbytes`` new bytes; OutOfResources when there are none."""
        return self._made(self._sycl.malloc_device, nbytes)

    def alloc_host(self, nbytes: int) -> int:
        """The address of ``nbytes`` new bytes of the host that the device reads and writes in place."""
        return self._made(self._sycl.malloc_host, nbytes)

    def _made(self, function: Callable[[int, int], int | None], nbytes: int) -> int:
        address = function(max(nbytes, 1), self._queue.handle)
        if not address:
            raise OutOfResources(
                f"{self._queue.device.info.name} has no {nbytes} bytes left",
                remedy="free arrays that are not needed",
                resource="memory",
                need=nbytes,
                have=0,
            )
        return int(address)

    def free(self, address: int) -> None:
        """Give ``address`` back once the queue's work is done: SYCL itself does not wait."""
        self._queue.wait()
        self._sycl.free(address, self._queue.handle)

    def copy_in(self, destination: int, source: int, nbytes: int) -> None:
        """Copy host bytes to the device; returns when ``source`` may be changed."""
        self._copy(destination, source, nbytes)

    def copy_out(self, destination: int, source: int, nbytes: int) -> None:
        """Copy device bytes to the host; returns when they are there."""
        self._copy(destination, source, nbytes)

    def _copy(self, destination: int, source: int, nbytes: int) -> None:
        event = self._sycl.memcpy(self._queue.handle, destination, source, nbytes)
        self._sycl.finish(event, f"a copy of {nbytes} bytes")
