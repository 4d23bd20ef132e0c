"""A device in use: a context, and an immediate command list, which runs what is appended in order, at once.

Level Zero specification, "Command Queues and Command Lists".  A list takes appends of one thread at a time, so each has a lock, which
compiled code takes, too (:mod:`tri_backend_intel.runtime.level_zero.launch`).
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tri_backend_intel.runtime.level_zero.api import (
    CommandQueueDesc,
    CommandQueueFlag,
    CommandQueueGroupProperties,
    CommandQueueGroupPropertyFlag,
    CommandQueueMode,
    ContextDesc,
    Result,
)
from tri_backend_intel.runtime.level_zero.devices import ZeDevice, check_driver
from tri_backend_intel.runtime.level_zero.events import ZeEvents, wait_for
from tri_backend_intel.runtime.level_zero.launch import ListLock
from tri_backend_intel.runtime.records import Records
from tri_core.api import DeviceError, KernelFault

__all__ = ["ZeQueue"]


class ZeQueue:
    """An in-order queue of ``ze_device``; ``handle`` is its command list, ``context`` holds its memory and modules.

    DeviceError when the driver has none.
    """

    def __init__(self, ze_device: ZeDevice) -> None:
        self.ze_device, self.loader = ze_device, ze_device.loader
        check_driver(ze_device.driver, ze_device.name)
        self.context = self.loader.handle(
            "zeContextCreate", ze_device.driver.handle, ctypes.byref(ContextDesc.new())
        )
        try:
            #: the group of the device's queues that it is of
            self.ordinal = self._ordinal()
            self.handle = self._command_list()
        except DeviceError:
            self.loader("zeContextDestroy", self.context)
            raise
        self.lock = ListLock()
        #: what is given back, at the latest by :meth:`close`: handle or address -> how
        self._owned: dict[int, Callable[[], object]] = {}
        self._retired: list[int] = []
        self.records = Records()

    def _command_list(self) -> int:
        desc = CommandQueueDesc.new(
            ordinal=self.ordinal, flags=CommandQueueFlag.IN_ORDER, mode=CommandQueueMode.ASYNCHRONOUS
        )
        handle = self.loader.handle(
            "zeCommandListCreateImmediate", self.context, self.ze_device.handle, ctypes.byref(desc)
        )
        status = self.loader.status("zeCommandListHostSynchronize", handle, 0)
        if status in (Result.ERROR_UNSUPPORTED_FEATURE, Result.ERROR_UNINITIALIZED):
            # the loader has it, and the driver's table does not
            self.loader("zeCommandListDestroy", handle)
            raise DeviceError(
                f"the driver of {self.ze_device.name} ({self.ze_device.driver.version_text}) cannot wait for an immediate command list",
                remedy="install a newer driver",
            )
        return handle

    def _ordinal(self) -> int:
        """The first group of queues that computes."""
        count = ctypes.c_uint32()
        function = "zeDeviceGetCommandQueueGroupProperties"
        self.loader(function, self.ze_device.handle, ctypes.byref(count), None)
        groups = (CommandQueueGroupProperties * count.value)(
            *(CommandQueueGroupProperties.new() for _ in range(count.value))
        )
        if count.value:
            self.loader(function, self.ze_device.handle, ctypes.byref(count), groups)
        compute = (i for i, g in enumerate(groups) if g.flags & CommandQueueGroupPropertyFlag.COMPUTE)
        found = next(compute, None)
        if found is None:
            raise DeviceError(
                f"{self.ze_device.name} has no queues that compute", remedy="use another device"
            )
        return found

    @contextmanager
    def appending(self) -> Iterator[int]:
        """The command list, for this thread alone."""
        self.lock.acquire()
        try:
            yield self.handle
        finally:
            self.lock.release()

    def copy(self, destination: int, source: int, nbytes: int) -> None:
        """Append a copy, of memory of any kind; what the host has must stay until :meth:`wait`."""
        with self.appending() as handle:
            self.loader("zeCommandListAppendMemoryCopy", handle, destination, source, nbytes, None, 0, None)

    def fill(self, address: int, value: int, nbytes: int) -> None:
        """Append a fill with the byte ``value``."""
        pattern = ctypes.c_uint8(value)
        with self.appending() as handle:
            self.loader(
                "zeCommandListAppendMemoryFill",
                handle,
                address,
                ctypes.byref(pattern),
                1,
                nbytes,
                None,
                0,
                None,
            )

    def own(self, handle: int, give_back: Callable[[], object]) -> int:
        """``handle``, which is given back by :meth:`retire`, or :meth:`close`, the newest first."""
        self._owned[handle] = give_back
        return handle

    def retire(self, handle: int) -> None:
        """Give ``handle`` back when the work appended so far, which may use it, is known to be done."""
        self._retired.append(handle)

    def wait(self) -> None:
        """Wait for all that was appended; KernelFault where the device was lost in it."""
        retired, self._retired = self._retired, []
        try:
            wait_for(self.loader, "zeCommandListHostSynchronize", self.handle)
        except KernelFault as fault:
            self.records.check(fault)
            raise
        for handle in retired:
            self._owned.pop(handle, bool)()
        self.records.check()

    def settle(self) -> None:
        """Nothing: no work goes to other queues."""

    def timed(self, function: Callable[[], object]) -> float:
        """Seconds, by the device's clock, for what ``function`` appends."""
        events = ZeEvents(self.loader, self.context, self.ze_device.handle, self.ze_device.properties, 2)
        try:
            begin, end = events.new(), events.new()
            with self.appending() as handle:
                begin.record(handle)
            start = time.perf_counter()
            function()
            with self.appending() as handle:
                end.record(handle)
            end.wait()
            # a counter that turned more than once in a long measurement says nothing
            most = time.perf_counter() - start
            return min(events.seconds(begin, end), most)
        finally:
            self.wait()
            events.close()

    def close(self) -> None:
        """Give all that is owned, the list and the context back, after their work."""
        self.wait()
        while self._owned:
            self._owned.popitem()[1]()
        self.loader("zeCommandListDestroy", self.handle)
        self.loader("zeContextDestroy", self.context)
