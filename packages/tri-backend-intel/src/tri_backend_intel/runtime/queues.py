"""One in-order queue per device, a second one that takes times, and the queues of callers that launches went to."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tri_backend_intel.runtime.found import FoundDevice
from tri_backend_intel.runtime.records import Records
from tri_backend_intel.runtime.sycl import Sycl, driver_error
from tri_core import forks
from tri_core.api import DeviceError

__all__ = ["DeviceQueue"]


class DeviceQueue:
    """The queue of a device; ``handle`` is the address of its ``sycl::queue``, for launches.

    Profiling makes every launch dearer, so it has a queue of its own that :meth:`timed` swaps in.  Launches may go to
    queues of the caller's; those are remembered until :meth:`wait`, in copies, which SYCL counts as references.
    """

    def __init__(self, sycl: Sycl, device: FoundDevice) -> None:
        self.device = device
        self._sycl = sycl
        self.queue: Any = sycl.dpctl.SyclQueue(device.native, property="in_order")
        self.handle: int = self.queue.addressof_ref()
        self._others: dict[int, int] = {}
        #: copies in the table live: what is taken out of it is deleted by who took it
        self._lock = forks.Lock()
        #: how often a launch went to a queue of the caller's
        self.visits = 0
        self.records = Records()

    def visit(self, stream: int) -> bool:
        """Remember the ``sycl::queue`` at ``stream`` for a launch; whether the launch must be ordered by barriers.

        DeviceError when it is of another context, in which this device's kernels are not built.
        """
        with self._lock:
            self.visits += 1
            known = self._others.get(stream)
            if known is None or not self._sycl.same_queue(stream, known):
                self._remember(stream)
            else:
                known = None
        if known is not None:
            self._finish(known)
        return not self._sycl.is_in_order(stream)

    def _remember(self, stream: int) -> None:
        if not self._sycl.share_context(stream, self.handle):
            raise DeviceError(
                f"a launch on a queue of another context than that of {self.device.info.name} in this process",
                remedy="make the queue (and the memory) from the device alone, as dpctl.SyclQueue(device) does",
            )
        self._others[stream] = self._sycl.copy_queue(stream)

    def wait(self) -> None:
        """Wait for everything that was submitted, on the queues of callers too."""
        self.queue.wait()
        with self._lock:
            others, self._others = self._others, {}
        for copy in others.values():
            self._finish(copy)
        self.records.check()

    def settle(self) -> None:
        """Wait if work went to queues of callers, which nothing else orders with this one."""
        if self._others or self.visits:
            self.wait()

    def fill(self, address: int, value: int, nbytes: int) -> None:
        """Put a fill with the byte ``value`` on the queue."""
        event = self._sycl.memset(self.handle, address, value, nbytes)
        if event:
            self._sycl.delete_event(event)

    def _finish(self, copy: int) -> None:
        self._sycl.wait_queue(copy)
        self._sycl.delete_queue(copy)

    def timed(self, function: Callable[[], object]) -> float:
        """Seconds between the first and the last thing that ``function`` puts on this queue.

        Where it uses queues of the caller's, which need not take times: by the host's clock, from the call to the end
        of the work.
        """
        self.wait()
        plain = self.queue, self.handle
        profiled = self._sycl.dpctl.SyclQueue(
            self.queue.sycl_context, self.device.native, property=["in_order", "enable_profiling"]
        )
        try:
            self.queue, self.handle = profiled, profiled.addressof_ref()
            return self._between_barriers(function)
        finally:
            profiled.wait()
            self.queue, self.handle = plain

    def _between_barriers(self, function: Callable[[], object]) -> float:
        before = self.visits
        begin = self._sycl.barrier(self.handle)
        start = time.perf_counter()
        function()
        if self.visits > before:
            self.wait()
            self._sycl.delete_event(begin)
            return time.perf_counter() - start
        end = self._sycl.barrier(self.handle)
        if not begin or not end:
            raise driver_error("a barrier that takes the time")
        self._sycl.wait(end)
        seconds = (self._sycl.event_start(end) - self._sycl.event_end(begin)) * 1e-9
        self._sycl.delete_event(begin)
        self._sycl.delete_event(end)
        return max(float(seconds), 0.0)
