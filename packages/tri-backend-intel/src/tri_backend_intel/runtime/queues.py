"""One in-order queue per device, and a second one that takes times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tri_backend_intel.runtime.devices import FoundDevice
from tri_backend_intel.runtime.sycl import Sycl, driver_error

__all__ = ["DeviceQueue"]


class DeviceQueue:
    """The queue of a device; ``handle`` is the address of its ``sycl::queue``, for launches.

    Profiling makes every launch dearer, so it has a queue of its own that :meth:`timed` swaps in.
    """

    def __init__(self, sycl: Sycl, device: FoundDevice) -> None:
        self.device = device
        self._sycl = sycl
        self.queue: Any = sycl.dpctl.SyclQueue(device.sycl_device, property="in_order")
        self.handle: int = self.queue.addressof_ref()

    def wait(self) -> None:
        """Wait for everything that was submitted."""
        self.queue.wait()

    def timed(self, function: Callable[[], object]) -> float:
        """Seconds between the first and the last thing that ``function`` puts on this queue."""
        self.wait()
        plain = self.queue, self.handle
        profiled = self._sycl.dpctl.SyclQueue(
            self.queue.sycl_context, self.device.sycl_device, property=["in_order", "enable_profiling"]
        )
        try:
            self.queue, self.handle = profiled, profiled.addressof_ref()
            return self._between_barriers(function)
        finally:
            profiled.wait()
            self.queue, self.handle = plain

    def _between_barriers(self, function: Callable[[], object]) -> float:
        begin = self._sycl.barrier(self.handle)
        function()
        end = self._sycl.barrier(self.handle)
        if not begin or not end:
            raise driver_error("a barrier that takes the time")
        self._sycl.wait(end)
        seconds = (self._sycl.event_start(end) - self._sycl.event_end(begin)) * 1e-9
        self._sycl.delete_event(begin)
        self._sycl.delete_event(end)
        return max(float(seconds), 0.0)
