"""Points in a command list's work, and the seconds between two (Level Zero specification, "Events")."""

from __future__ import annotations

import ctypes

from tri_backend_intel.runtime.level_zero.api import (
    DeviceProperties,
    EventDesc,
    EventPoolDesc,
    EventPoolFlag,
    EventScopeFlag,
    KernelTimestampResult,
    Result,
)
from tri_backend_intel.runtime.level_zero.errors import error
from tri_backend_intel.runtime.level_zero.loader import Loader

__all__ = ["ZeEvent", "ZeEvents", "wait_for"]

#: nanoseconds of one wait: between two of them the interpreter sees signals
_SLICE = 100_000_000


def wait_for(loader: Loader, function: str, handle: int) -> None:
    """Wait by ``function`` (handle, nanoseconds) until it does not say "not ready"; DeviceError, or KernelFault, when it fails."""
    while (status := loader.status(function, handle, _SLICE)) == Result.NOT_READY:
        pass
    if status:
        raise error(function, status)


class ZeEvent:
    """A barrier in a list, with the device's time."""

    def __init__(self, loader: Loader, handle: int) -> None:
        self._loader, self.handle = loader, handle

    def record(self, command_list: int) -> None:
        """Mark all that was appended to ``command_list`` so far."""
        self._loader("zeCommandListAppendBarrier", command_list, self.handle, 0, None)

    def done(self) -> bool:
        """True if the marked work is done."""
        status = self._loader.status("zeEventQueryStatus", self.handle)
        if status not in (Result.SUCCESS, Result.NOT_READY):
            raise error("zeEventQueryStatus", status)
        return status == Result.SUCCESS

    def wait(self) -> None:
        """Wait until the marked work is done."""
        wait_for(self._loader, "zeEventHostSynchronize", self.handle)

    def times(self) -> tuple[int, int]:
        """Ticks at which the barrier began and ended; they wrap around."""
        found = KernelTimestampResult()
        self._loader("zeEventQueryKernelTimestamp", self.handle, ctypes.byref(found))
        return found.global_.kernelStart, found.global_.kernelEnd


class ZeEvents:
    """A pool of ``count`` events with time stamps, in ``context`` for ``device``; :meth:`close` gives them back."""

    def __init__(
        self, loader: Loader, context: int, device: int, properties: DeviceProperties, count: int
    ) -> None:
        self._loader, self._properties = loader, properties
        flags = EventPoolFlag.KERNEL_TIMESTAMP | EventPoolFlag.HOST_VISIBLE
        desc, devices = EventPoolDesc.new(flags=flags, count=count), (ctypes.c_void_p * 1)(device)
        self._pool = loader.handle("zeEventPoolCreate", context, ctypes.byref(desc), 1, devices)
        self._made: list[ZeEvent] = []

    def new(self) -> ZeEvent:
        """The next event of the pool."""
        scope = EventScopeFlag.HOST
        desc = EventDesc.new(index=len(self._made), signal=scope, wait=scope)
        made = ZeEvent(self._loader, self._loader.handle("zeEventCreate", self._pool, ctypes.byref(desc)))
        self._made.append(made)
        return made

    def seconds(self, begin: ZeEvent, end: ZeEvent) -> float:
        """From the end of ``begin`` to the beginning of ``end``, which both are done; right for less than one turn of the counter."""
        bits = self._properties.kernelTimestampValidBits
        ticks = end.times()[0] - begin.times()[1]
        # nanoseconds a tick, as the properties have it under their first structure type
        return (
            float((ticks % (1 << bits) if 0 < bits < 64 else ticks) * self._properties.timerResolution) * 1e-9
        )

    def close(self) -> None:
        """Give the events and the pool back."""
        for event in self._made:
            self._loader("zeEventDestroy", event.handle)
        self._made.clear()
        self._loader("zeEventPoolDestroy", self._pool)
