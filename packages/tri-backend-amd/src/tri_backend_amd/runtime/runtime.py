"""The runtime of device kind ``hip``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from tri_backend_amd.architectures import DEVICE_KIND, target
from tri_backend_amd.runtime import kernels, streams
from tri_backend_amd.runtime.devices import list_devices, probe
from tri_backend_amd.runtime.hip import Hip, hip
from tri_backend_amd.runtime.memory import HipMemory
from tri_backend_amd.runtime.streams import framework_stream
from tri_core.api import DeviceError, DeviceInfo, HostMemory, InternalError, KernelImage, Launch, LoadedKernel
from tri_runtime import RuntimeBase, check_resources

__all__ = ["HipRuntime"]

#: bytes written to evict the caches: more than the 256 MiB of an MI300's last level
_FLUSH_BYTES = 512 << 20


class HipRuntime(RuntimeBase):
    """Loads code objects and launches them through HIP.

    ``api`` replaces the bindings, for tests.
    """

    device_kind = DEVICE_KIND
    host_memory: HostMemory = "refused"
    fork_safe = False
    no_device_remedy = "is ROCm installed?  HIP_VISIBLE_DEVICES may hide devices"
    host_array_remedy = "move the array to the GPU first: tensor.cuda() in PyTorch for ROCm"

    def __init__(self, api: Any = None) -> None:
        super().__init__()
        self._given = None if api is None else Hip(api)
        self._flush: dict[int, int] = {}
        self._events = threading.local()

    @property
    def hip(self) -> Hip:
        """The bindings; DeviceError when HIP is missing or the process was forked."""
        self.check_process()
        return self._given or hip()

    # --- devices ------------------------------------------------------------------------------------------

    def devices(self) -> Sequence[DeviceInfo]:
        """The GPUs that HIP shows; creates no context."""
        return probe() if self._given is None else list_devices(self._given)

    def current_device(self) -> DeviceInfo:
        """HIP's current device of this thread, which PyTorch sets too."""
        super().current_device()  # refuses when there is none
        return self.devices()[self.hip.call("hipGetDevice")]

    def set_device(self, index: int) -> None:
        """Make device ``index`` current for this thread."""
        super().set_device(index)
        self.hip.call("hipSetDevice", index)

    def current_stream(self, device: DeviceInfo) -> int:
        """PyTorch's current stream on ``device`` where PyTorch is for ROCm, else the default stream."""
        return framework_stream(device.index)

    def stream_handle(self, stream: Any, device: DeviceInfo | None) -> int:
        """HIP's handle of what a launch gives as ``stream=``; LaunchError for what is none of ``device``."""
        return streams.handle_of(stream, device)

    def on_stream(self, stream: int, device: DeviceInfo) -> AbstractContextManager[Any]:
        """A block in which ``stream`` is the current one of ``device``."""
        return streams.current(stream, device.index)

    def memory(self, device: DeviceInfo) -> HipMemory:
        """The memory of ``device``."""
        return HipMemory(self.hip, device.index, lambda: framework_stream(device.index))

    # --- kernels ------------------------------------------------------------------------------------------

    def load(self, image: KernelImage, device: DeviceInfo) -> kernels.HipKernel:
        """Load a code object; OutOfResources and DeviceError (wrong processor) before HIP sees it."""
        check_resources(image.metadata, target(image.metadata.target, device).spec.limits)
        return kernels.load(self.hip, image, device)

    def launcher(self, kernel: LoadedKernel, image: KernelImage) -> Launch:
        """A launcher of ``kernel``, on the device that it was loaded for."""
        if not isinstance(kernel, kernels.HipKernel):
            raise InternalError(f"{type(kernel).__name__} was loaded by another runtime")
        limits = dict(target(image.metadata.target, kernel.device).spec.limits)
        several = len(self.devices()) > 1
        return kernels.launcher(self.hip, kernel, image, limits, framework_stream, several=several)

    # --- time ---------------------------------------------------------------------------------------------

    def synchronize(self) -> None:
        """Wait for all work of the current device; DeviceError when a kernel failed."""
        self.current_device()
        self.hip.call("hipDeviceSynchronize")

    def flush_cache(self) -> None:
        """Enqueue a write that leaves nothing else in the caches."""
        device = self.current_device()
        if device.index not in self._flush:
            self._flush[device.index] = self.memory(device).alloc(_FLUSH_BYTES)
        stream = framework_stream(device.index)
        self.hip.call("hipMemsetAsync", self._flush[device.index], 0, _FLUSH_BYTES, stream)

    def elapsed(self, function: Callable[[], object]) -> float:
        """Seconds between two events around the work of ``function`` on the current stream."""
        device = self.current_device()
        begin, end = self._event_pair(device.index)
        stream = framework_stream(device.index)
        self.hip.call("hipEventRecord", begin, stream)
        function()
        self.hip.call("hipEventRecord", end, stream)
        self.hip.call("hipEventSynchronize", end)
        return float(self.hip.call("hipEventElapsedTime", begin, end)) / 1e3

    def timer(self, stream: int | None, function: Callable[[], object]) -> Callable[[], float | None]:
        """Enqueue ``function``, a launch on ``stream`` (None: the current one), between two events of its own.

        The result waits and gives the seconds between them; None where there are none, as in a graph that is being recorded.
        """
        on = framework_stream(self.current_device().index) if stream is None else stream
        begin, end = self.hip.call("hipEventCreate"), self.hip.call("hipEventCreate")
        self.hip.call("hipEventRecord", begin, on)
        function()
        self.hip.call("hipEventRecord", end, on)

        def seconds() -> float | None:
            try:
                self.hip.call("hipEventSynchronize", end)
                return float(self.hip.call("hipEventElapsedTime", begin, end)) / 1e3
            except DeviceError:
                return None

        return seconds

    def _event_pair(self, index: int) -> tuple[Any, Any]:
        pairs: dict[int, tuple[Any, Any]] = self._events.__dict__.setdefault("pairs", {})
        if index not in pairs:
            pairs[index] = (self.hip.call("hipEventCreate"), self.hip.call("hipEventCreate"))
        return pairs[index]
