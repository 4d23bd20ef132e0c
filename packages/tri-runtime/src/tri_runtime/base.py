"""The parts of a runtime that no driver has a say in."""

from __future__ import annotations

import abc
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from tri_core.api import (
    Argument,
    ArrayArgument,
    DeviceError,
    DeviceInfo,
    HostMemory,
    LaunchError,
    LoadedKernel,
)
from tri_runtime.handles import DeviceMemory
from tri_runtime.process import ForkGuard
from tri_runtime.staging import staged_copies

__all__ = ["LaunchCheck", "RuntimeBase"]

#: looks at a launch before it runs, given the grid and the arguments, arrays of the host described; it may raise
LaunchCheck = Callable[[tuple[int, int, int], Sequence[Argument | ArrayArgument]], None]


class RuntimeBase(abc.ABC):
    """Defaults for an implementation of :class:`tri_core.runtime.Runtime`.

    A subclass sets ``device_kind`` and gives ``devices``, ``load``, ``launcher`` and ``synchronize``;
    one whose ``host_memory`` is ``"staged"`` also overrides :meth:`memory`.
    """

    device_kind: str = ""
    host_memory: HostMemory = "refused"
    fork_safe: bool = False
    #: of kernels compiled with ``debug``, whether :meth:`staged` is called though ``host_memory`` is ``"direct"``
    wants_extents: bool = False
    #: what a user can do when there is no device
    no_device_remedy: str = "name a target that this machine has, or compile without launching"
    #: what a user can do when ``host_memory`` is ``"refused"``
    host_array_remedy: str = "move the array to the device first"

    def __init__(self) -> None:
        self._guard = ForkGuard(f"the {self.device_kind} runtime")
        self._thread = threading.local()

    def check_process(self) -> None:
        """DeviceError when the runtime cannot live through the fork that made this process."""
        if not self.fork_safe:
            self._guard.check()

    @abc.abstractmethod
    def devices(self) -> Sequence[DeviceInfo]:
        """The devices present; creates no context."""

    @abc.abstractmethod
    def synchronize(self) -> None:
        """Wait for all work of the current device."""

    def current_device(self) -> DeviceInfo:
        """The device chosen by :meth:`set_device` in this thread, the first one otherwise."""
        present = self.devices()
        index = getattr(self._thread, "index", 0)
        if not present:
            raise DeviceError(f"no {self.device_kind} device is present", remedy=self.no_device_remedy)
        return present[index]

    def set_device(self, index: int) -> None:
        """Make device ``index`` current for this thread; DeviceError when there is none of that index."""
        count = len(self.devices())
        if not 0 <= index < count:
            raise DeviceError(f"{self.device_kind} device {index} is asked for; {count} present")
        self._thread.index = index

    def launch_check(self, kernel: LoadedKernel) -> LaunchCheck | None:
        """The check of launches of ``kernel`` before they run, once for each size of grid and arrays; None: there is none."""
        del kernel
        return None

    def device_for(self, arch: str) -> DeviceInfo:
        """The device for a kernel of architecture ``arch`` whose arrays are all in host memory: the current one.

        A runtime with devices of several architectures chooses one that runs the kernel.
        """
        del arch
        return self.current_device()

    def host_memory_for(self, arch: str) -> HostMemory:
        """Access of kernels of architecture ``arch`` to host memory: ``host_memory``, if all devices are
        alike.
        """
        del arch
        return self.host_memory

    def current_stream(self, device: DeviceInfo) -> int:
        """The default stream."""
        del device
        return 0

    def memory(self, device: DeviceInfo) -> DeviceMemory:
        """The memory of ``device``, for staging and buffers."""
        raise DeviceError(f"the {self.device_kind} runtime gives no access to the memory of {device}")

    def staged(self, arrays: Sequence[ArrayArgument]) -> AbstractContextManager[Sequence[Argument]]:
        """Addresses of ``arrays`` for a launch, according to ``host_memory``."""
        match self.host_memory:
            case "direct":
                return nullcontext(tuple(a.pointer for a in arrays))
            case "staged":
                return staged_copies(arrays, self.memory(self.current_device()))
            case "refused":
                raise LaunchError(
                    f"a host array was passed to a {self.device_kind} kernel, which cannot read it",
                    remedy=self.host_array_remedy,
                )

    def flush_cache(self) -> None:  # noqa: B027  doing nothing is a choice
        """Enqueue work that evicts the device's caches, without waiting for it; nothing by default."""

    def elapsed(self, function: Callable[[], object]) -> float:
        """Seconds from the call of ``function`` to the end of the work that it enqueued, by the host's clock."""
        begin = time.perf_counter()
        function()
        self.synchronize()
        return time.perf_counter() - begin
