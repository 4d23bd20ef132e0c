"""A CPU device in use through OpenCL: its memory is the host's, and a launch is done when it returns."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

from tri_backend_intel.runtime.opencl.library import OpenClLibrary
from tri_backend_intel.runtime.records import Records
from tri_core import forks
from tri_core.api import OutOfResources
from tri_core.lazy_dataclasses import dataclass

__all__ = ["ClDevice", "ClMemory", "ClQueue"]

_ALIGNMENT = 256


@dataclass(frozen=True)
class ClDevice:
    """A device's handle and its platform's."""

    library: OpenClLibrary
    platform: int
    handle: int


class ClQueue:
    """An in-order queue of ``cl_device`` at ``handle``, in a ``context`` of its own."""

    def __init__(self, cl_device: ClDevice) -> None:
        self.cl_device, self.library = cl_device, cl_device.library
        devices = (ctypes.c_void_p * 1)(cl_device.handle)
        self.context = self.library.made("clCreateContext", None, 1, devices, None, None)
        self.handle = self.library.made(
            "clCreateCommandQueueWithProperties", self.context, cl_device.handle, None
        )
        self.set_pointer = self.library.extension(
            cl_device.platform,
            "clSetKernelArgMemPointerINTEL",
            ctypes.c_void_p,
            ctypes.c_uint,
            ctypes.c_void_p,
        )
        #: what was allocated, by address
        self.memory: dict[int, object] = {}
        #: a kernel's arguments are state of its handle, which one thread at a time may set
        self.lock = forks.Lock(waits=False)
        self.records = Records()

    def wait(self) -> None:
        """Wait for all that was enqueued."""
        self.library("clFinish", self.handle)
        self.records.check()

    def settle(self) -> None:
        """Nothing: no work goes to other queues."""

    def timed(self, function: Callable[[], object]) -> float:
        """Seconds by the host's clock, whose processor the device is."""
        self.wait()
        start = time.perf_counter()
        function()
        self.wait()
        return time.perf_counter() - start

    def fill(self, address: int, value: int, nbytes: int) -> None:
        """Write the byte ``value``, when the work before is done."""
        self.wait()
        ctypes.memset(address, value, nbytes)

    def close(self) -> None:
        """Give the queue and the context back, after their work."""
        self.wait()
        self.library("clReleaseCommandQueue", self.handle)
        self.library("clReleaseContext", self.context)


class ClMemory:
    """The host's memory, as :class:`tri_runtime.DeviceMemory`."""

    def __init__(self, queue: ClQueue) -> None:
        self._queue = queue

    def alloc(self, nbytes: int) -> int:
        """The address of ``nbytes`` new bytes; OutOfResources when there are none."""
        try:
            memory = (ctypes.c_char * (nbytes + _ALIGNMENT))()
        except (MemoryError, OverflowError, ValueError) as error:
            raise OutOfResources(
                f"this machine has no {nbytes} bytes left",
                remedy="free arrays that are not needed",
                resource="memory",
                need=nbytes,
                have=0,
            ) from error
        address = -(-ctypes.addressof(memory) // _ALIGNMENT) * _ALIGNMENT
        self._queue.memory[address] = memory
        return address

    def alloc_host(self, nbytes: int) -> int:
        """The same: the device reads and writes the host's memory."""
        return self.alloc(nbytes)

    def free(self, address: int) -> None:
        """Give ``address`` back once the queue's work is done."""
        self._queue.wait()
        del self._queue.memory[address]

    def copy_in(self, destination: int, source: int, nbytes: int) -> None:
        """Copy, when the work before is done."""
        self._queue.wait()
        ctypes.memmove(destination, source, nbytes)

    def copy_out(self, destination: int, source: int, nbytes: int) -> None:
        """Copy, when the work before is done."""
        self.copy_in(destination, source, nbytes)
