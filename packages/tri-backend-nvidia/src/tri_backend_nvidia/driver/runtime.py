"""The runtime of device kind ``cuda``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tri_backend_nvidia.architectures import ARCHITECTURES, DEVICE_KIND, target
from tri_backend_nvidia.driver import devices, faults, graphs, kernels, plans, streams
from tri_backend_nvidia.driver.driver import call, driver, error
from tri_backend_nvidia.driver.memory import CudaMemory
from tri_backend_nvidia.driver.streams import framework_stream
from tri_core.api import (
    ArrayArgument,
    DeviceError,
    DeviceInfo,
    HostMemory,
    InternalError,
    KernelImage,
    Launch,
    LaunchError,
    LaunchPlan,
    LoadedKernel,
    TargetKey,
)
from tri_runtime import RuntimeBase, check_grid, check_resources

__all__ = ["CudaRuntime"]

#: bytes written to evict the caches: several times the largest L2
_FLUSH_BYTES = 256 << 20


class CudaRuntime(RuntimeBase):
    """Loads cubins and launches them through the CUDA driver, in the primary context of each device."""

    device_kind = DEVICE_KIND
    host_memory: HostMemory = "refused"
    fork_safe = False
    no_device_remedy = "is NVIDIA's driver running?  CUDA_VISIBLE_DEVICES may hide devices"
    host_array_remedy = "move the array to the GPU first: tensor.cuda() in PyTorch, cupy.asarray(array) in CuPy; or pin it: tensor.pin_memory()"

    def __init__(self) -> None:
        super().__init__()
        self._flush: dict[int, int] = {}
        self._events = threading.local()

    # --- devices ------------------------------------------------------------------------------------------

    def devices(self) -> Sequence[DeviceInfo]:
        """The GPUs that the driver shows; creates no context."""
        return devices.probe()

    def current_device(self) -> DeviceInfo:
        """The device of this thread's context, whoever made it current: ``set_device``, PyTorch, another library."""
        self.check_process()
        present = self.devices()
        if len(present) > 1 and int(call("cuCtxGetCurrent")):
            return present[int(call("cuCtxGetDevice"))]
        return super().current_device()

    def set_device(self, index: int) -> None:
        """Make device ``index`` current for this thread."""
        super().set_device(index)
        self._enter(self.devices()[index])

    def _enter(self, device: DeviceInfo) -> None:
        """Make the device's context this thread's, unless it is already."""
        self.check_process()
        wanted = devices.context(device.index)
        if int(call("cuCtxGetCurrent")) != int(wanted):
            call("cuCtxSetCurrent", wanted)

    @contextmanager
    def _within(self, device: DeviceInfo) -> Iterator[None]:
        """A block in the device's context, which leaves the thread's own as it was."""
        self.check_process()
        call("cuCtxPushCurrent", devices.context(device.index))
        try:
            yield
        finally:
            call("cuCtxPopCurrent")

    def _in_context(self, device: DeviceInfo, function: Callable[[], int]) -> int:
        """As :meth:`_within`, for launches: generators take longer."""
        self.check_process()
        call("cuCtxPushCurrent", devices.context(device.index))
        try:
            return function()
        finally:
            call("cuCtxPopCurrent")

    def current_stream(self, device: DeviceInfo) -> int:
        """PyTorch's current stream on ``device`` where PyTorch uses CUDA, else the default stream."""
        return framework_stream(device.index)

    def stream_handle(self, stream: Any, device: DeviceInfo | None) -> int:
        """The driver's handle of what a launch gives as ``stream=``; LaunchError for what is none of ``device``."""
        return streams.handle_of(stream, device)

    def on_stream(self, stream: int, device: DeviceInfo) -> AbstractContextManager[Any]:
        """A block in which ``stream`` is the current one of ``device``."""
        return streams.current(stream, device.index)

    def memory(self, device: DeviceInfo) -> CudaMemory:
        """The memory of ``device``."""
        return CudaMemory(lambda: self._within(device), lambda: framework_stream(device.index))

    def mapped(self, array: ArrayArgument, device: DeviceInfo) -> int | None:
        """Address by which ``device`` reads an array in host memory that is pinned, registered or managed;
        None for other memory, which it does not read.

        Nobody waits for the kernel: the host reads what it wrote after a synchronization.
        """
        with self._within(device):
            return devices.mapped(array.pointer, array.nbytes)

    # --- kernels ------------------------------------------------------------------------------------------

    def load(self, image: KernelImage, device: DeviceInfo) -> kernels.CudaKernel:
        """Load a cubin; OutOfResources and DeviceError (wrong architecture) before the driver sees it.

        The thread's context stays as it is, and so does a capture that the launch is part of.
        """
        self.check_process()
        key = image.metadata.target
        check_resources(image.metadata, target(key, device).spec.limits)
        _check_architecture(key, device)
        with graphs.outside_of_captures(), self._within(device):
            return kernels.load(image, device)

    def launcher(self, kernel: LoadedKernel, image: KernelImage) -> Launch:
        """A callable that launches ``kernel`` on its device."""
        if not isinstance(kernel, kernels.CudaKernel):
            raise InternalError(f"a {type(kernel).__name__} was loaded by another runtime")
        limits = target(image.metadata.target, kernel.device).spec.limits
        name = image.metadata.name

        def explain(status: int, grid: tuple[int, int, int]) -> Exception:
            try:
                self.check_process()
                check_grid(grid, limits)
            except (DeviceError, LaunchError) as found:
                return found
            return error(f"launching {name} with grid {grid}", status)

        return kernels.launcher(
            kernel,
            image,
            current_stream=framework_stream,
            in_context=self._in_context,
            explain=explain,
            many_devices=len(self.devices()) > 1,
        )

    def launch_plan(self, kernel: LoadedKernel, image: KernelImage) -> LaunchPlan | None:
        """Launch plan of ``kernel``, for code that calls the driver itself; None if only :meth:`launcher` can
        launch it.
        """
        if not isinstance(kernel, kernels.CudaKernel):
            raise InternalError(f"{type(kernel).__name__} is not a kernel of this runtime")
        many = len(self.devices()) > 1
        return plans.launch_plan(kernel, image, in_context=self._in_context, many_devices=many)

    # --- time ---------------------------------------------------------------------------------------------

    def synchronize(self) -> None:
        """Wait for all work of the current device; KernelFault, with its name, when a kernel stopped."""
        self._enter(self.current_device())
        call("cuCtxSynchronize")
        faults.settled()

    def flush_cache(self) -> None:
        """Enqueue a write of 256 MiB, which leaves nothing else in the caches."""
        device = self.current_device()
        self._enter(device)
        if device.index not in self._flush:
            self._flush[device.index] = int(call("cuMemAlloc", _FLUSH_BYTES))
        stream = driver().CUstream(framework_stream(device.index))
        call("cuMemsetD32Async", self._flush[device.index], 0, _FLUSH_BYTES // 4, stream)

    def elapsed(self, function: Callable[[], object]) -> float:
        """Seconds between two events around the work of ``function`` on the current stream.

        Work enqueued before keeps the device busy while ``function`` enqueues: flush first, and the cost of
        launching on the host is not measured.
        """
        device = self.current_device()
        self._enter(device)
        begin, end = self._event_pair(device.index)
        stream = driver().CUstream(framework_stream(device.index))
        call("cuEventRecord", begin, stream)
        function()
        call("cuEventRecord", end, stream)
        call("cuEventSynchronize", end)
        return float(call("cuEventElapsedTime", begin, end)) / 1e3

    def timer(self, stream: int | None, function: Callable[[], object]) -> Callable[[], float | None]:
        """Enqueue ``function``, a launch on ``stream`` (None: the current one), between two events of its own.

        The result waits and gives the seconds between them; None where there are none, as in a graph that is being recorded.
        """
        device = self.current_device()
        self._enter(device)
        on = driver().CUstream(framework_stream(device.index) if stream is None else stream)
        begin, end = call("cuEventCreate", 0), call("cuEventCreate", 0)
        call("cuEventRecord", begin, on)
        function()
        call("cuEventRecord", end, on)

        def seconds() -> float | None:
            try:
                call("cuEventSynchronize", end)
                return float(call("cuEventElapsedTime", begin, end)) / 1e3
            except DeviceError:
                return None

        return seconds

    def capture(self, function: Callable[[], object]) -> Callable[[], None]:
        """The launches that ``function`` makes now, recorded as a CUDA graph: a callable that repeats them."""
        device = self.current_device()
        self._enter(device)
        return graphs.capture(function, device.index)

    def _event_pair(self, index: int) -> tuple[object, object]:
        pairs: dict[int, tuple[object, object]] | None = getattr(self._events, "pairs", None)
        if pairs is None:
            pairs = self._events.pairs = {}
        if index not in pairs:
            pairs[index] = (call("cuEventCreate", 0), call("cuEventCreate", 0))
        return pairs[index]


def _check_architecture(key: TargetKey, device: DeviceInfo) -> None:
    """DeviceError when code for ``key`` cannot run on ``device``."""
    code, present = ARCHITECTURES.get(key.arch), ARCHITECTURES.get(device.arch)
    if code is None or present is None:
        return  # the driver decides
    same_family = code.major == present.major and code.minor <= present.minor
    exact = code.suffix != "a" or code.minor == present.minor
    if not (same_family and exact):
        raise DeviceError(
            f"code for {key} cannot run on {device.name} ({device.arch})",
            remedy=f"compile for nvidia:{device.arch}",
        )
