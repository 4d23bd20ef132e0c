"""Commands that are recorded once and submitted as often as wanted, each time with a fence that says when they are done.

Level Zero specification, "Command Queues and Command Lists", "Fences".  What is appended to a :class:`ZeQueue` runs at once; a
recording costs the host one call, however many commands it has.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from tri_backend_intel.runtime.level_zero.api import (
    CommandListDesc,
    CommandListFlag,
    CommandQueueDesc,
    CommandQueueMode,
    FenceDesc,
    Result,
)
from tri_backend_intel.runtime.level_zero.errors import error
from tri_backend_intel.runtime.level_zero.events import ZeEvent, wait_for
from tri_backend_intel.runtime.level_zero.kernels import ZeKernel, make_launch
from tri_backend_intel.runtime.level_zero.queue import ZeQueue
from tri_core.api import Argument, DeviceError, KernelImage, LaunchError

__all__ = ["ZeFence", "ZeRecording"]


class ZeFence:
    """A fence of the command queue ``on``; :meth:`close` gives it back."""

    def __init__(self, queue: ZeQueue, on: int) -> None:
        self._loader = queue.loader
        self.handle = queue.loader.handle("zeFenceCreate", on, ctypes.byref(FenceDesc.new()))

    def done(self) -> bool:
        """True if the work submitted with it is done; KernelFault if the device was lost in it."""
        status = self._loader.status("zeFenceQueryStatus", self.handle)
        if status not in (Result.SUCCESS, Result.NOT_READY):
            raise error("zeFenceQueryStatus", status)
        return status == Result.SUCCESS

    def wait(self) -> None:
        """Wait until it is; KernelFault where the device was lost in it."""
        wait_for(self._loader, "zeFenceHostSynchronize", self.handle)

    def reset(self) -> None:
        """Not done any more, for the next submission."""
        self._loader("zeFenceReset", self.handle)

    def close(self) -> None:
        """Give it back."""
        self._loader("zeFenceDestroy", self.handle)


class ZeRecording:
    """Commands on the device of ``queue``, in order; in no order with what ``queue`` itself has.

    Kernels, memory and host bytes that it uses must stay until :meth:`close`.  Used by one thread at a time.  DeviceError when the
    driver refuses something.
    """

    def __init__(self, queue: ZeQueue) -> None:
        self._queue, self._loader = queue, queue.loader
        self._made: list[tuple[str, int]] = []
        place = queue.context, queue.ze_device.handle
        try:
            submit = CommandQueueDesc.new(ordinal=queue.ordinal, mode=CommandQueueMode.ASYNCHRONOUS)
            self._on = self._own("zeCommandQueue", *place, ctypes.byref(submit))
            commands = CommandListDesc.new(
                commandQueueGroupOrdinal=queue.ordinal, flags=CommandListFlag.IN_ORDER
            )
            self._list = self._own("zeCommandList", *place, ctypes.byref(commands))
            self.fence = ZeFence(queue, self._on)
        except DeviceError:
            self._give_back()
            raise
        self._closed = self._submitted = False
        self._keep: list[object] = []

    def _own(self, kind: str, *arguments: object) -> int:
        handle = self._loader.handle(f"{kind}Create", *arguments)
        self._made.append((f"{kind}Destroy", handle))
        return handle

    def copy(self, destination: int, source: int, nbytes: int) -> None:
        """Record a copy, of memory of any kind."""
        self._check_open()
        self._loader("zeCommandListAppendMemoryCopy", self._list, destination, source, nbytes, None, 0, None)

    def launch(
        self, kernel: ZeKernel, image: KernelImage, grid: tuple[int, int, int], args: Sequence[Argument]
    ) -> None:
        """Record a launch of ``kernel``; ``args`` are those of now.  LaunchError for a grid that the device does not take."""
        self._check_open()
        make_launch(kernel, image, self._list)(grid, None, args)
        self._keep.append(kernel)

    def wait_for(self, event: ZeEvent) -> None:
        """Record that what follows waits for ``event``, of another queue or the host."""
        self._check_open()
        self._loader("zeCommandListAppendWaitOnEvents", self._list, 1, (ctypes.c_void_p * 1)(event.handle))

    def submit(self) -> None:
        """Run all that is recorded, which ends the recording; waits for the submission before."""
        if not self._closed:
            self._loader("zeCommandListClose", self._list)
            self._closed = True
        if self._submitted:
            self.fence.wait()
            self.fence.reset()
        lists = (ctypes.c_void_p * 1)(self._list)
        self._loader("zeCommandQueueExecuteCommandLists", self._on, 1, lists, self.fence.handle)
        self._submitted = True

    def close(self) -> None:
        """Give everything back, when the last submission is done."""
        if self._submitted:
            self.fence.wait()
        self.fence.close()
        self._give_back()
        self._keep.clear()

    def _give_back(self) -> None:
        while self._made:
            self._loader(*self._made.pop())

    def _check_open(self) -> None:
        if self._closed:
            raise LaunchError(
                "a recording that was submitted takes no more commands", remedy="make another one for them"
            )
