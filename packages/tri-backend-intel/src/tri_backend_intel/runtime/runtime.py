"""The runtime of Intel devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tri_backend_intel.architectures import ARCHITECTURES, DEVICE_KIND
from tri_backend_intel.knobs import KNOBS
from tri_backend_intel.runtime.abilities import (
    check_architecture,
    check_device,
    check_extensions,
    with_clock,
)
from tri_backend_intel.runtime.devices import FoundDevice, devices
from tri_backend_intel.runtime.kernels import (
    SyclKernel,
    build_kernel,
    kernel_of,
    make_launch,
    modes_of,
)
from tri_backend_intel.runtime.memory import UsmMemory
from tri_backend_intel.runtime.native import Programs, images_of, interop_of
from tri_backend_intel.runtime.queues import DeviceQueue
from tri_backend_intel.runtime.sycl import Sycl, sycl
from tri_backend_intel.runtime.trial import Trials
from tri_backend_intel.spirv import read_module
from tri_core import knobs
from tri_core.api import (
    DeviceError,
    DeviceInfo,
    HostMemory,
    InternalError,
    KernelImage,
    Launch,
    LoadedKernel,
)
from tri_core.forks import cached_property
from tri_runtime import RuntimeBase, argument_table, check_parameters, check_resources

__all__ = ["IntelRuntime"]

#: bytes written to evict a device's caches: more than the last level of any of them holds
_FLUSH_BYTES = {True: 64 << 20, False: 512 << 20}

_NO_DEVICE = (
    "install Intel's GPU driver (Level Zero), or for a device on this CPU: pip install 'tri-backend-intel[cpu]'; "
    'without a device, simulate one: tri.target("sim:intel:pvc"), say'
)
#: dpctl itself has memory, but (since 0.22) no arrays
_HOST_ARRAYS = "pass arrays of dpnp, memory of dpctl.memory, or PyTorch's tensors on xpu"


class IntelRuntime(RuntimeBase):
    """SYCL devices through dpctl.

    Host arrays are used in place on a CPU device (the OpenCL driver reads any address) and refused by a
    GPU.  A launch on a CPU device returns when the kernel is done, one on a GPU when it is enqueued.
    """

    device_kind = DEVICE_KIND
    no_device_remedy = _NO_DEVICE

    def __init__(self) -> None:
        super().__init__()
        self._queues: dict[int, DeviceQueue] = {}
        self._programs: dict[int, Programs | None] = {}
        self._scratch: dict[int, int] = {}
        self._trials = Trials()
        knobs.register(KNOBS)  # again, for who makes a runtime without the plugin manager
        self.host_memory = "direct" if self._first_is_cpu() else "refused"
        self.host_array_remedy = _HOST_ARRAYS if self._found else _NO_DEVICE

    @cached_property
    def _sycl(self) -> Sycl:
        self.check_process()
        return sycl()

    @cached_property
    def _found(self) -> tuple[FoundDevice, ...]:
        return devices()

    def _first_is_cpu(self) -> bool:
        return bool(self._found) and self._found[0].is_cpu

    def devices(self) -> Sequence[DeviceInfo]:
        """The devices present: GPUs first, then the OpenCL CPU device."""
        return tuple(f.info for f in self._found)

    def set_device(self, index: int) -> None:
        """Make device ``index`` current; ``host_memory`` follows its kind."""
        super().set_device(index)
        self.host_memory = "direct" if self._found[index].is_cpu else "refused"

    def device_for(self, arch: str) -> DeviceInfo:
        """The current device if it is of ``arch`` or none is, else the first of ``arch``."""
        current = self.current_device()
        alike = (f.info for f in self._found if f.info.arch == arch)
        return current if current.arch == arch else next(alike, current)

    def host_memory_for(self, arch: str) -> HostMemory:
        """``host_memory`` for kernels that go to the current device; of another device, what its kind allows."""
        if not self._found:
            return "refused"
        device = self.device_for(arch)
        if device == self.current_device():
            return self.host_memory
        return "direct" if self._found[device.index].is_cpu else "refused"

    def queue(self, device: DeviceInfo) -> DeviceQueue:
        """The queue of ``device``, made at its first use."""
        self.check_process()
        if device.index not in self._queues:
            try:
                self._queues[device.index] = DeviceQueue(self._sycl, self._found[device.index])
            except self._sycl.dpctl.SyclQueueCreationError as error:
                raise DeviceError(f"{device.name} gives no queue: {error}") from error
        return self._queues[device.index]

    def current_stream(self, device: DeviceInfo) -> int:
        """The address of the device's ``sycl::queue``."""
        return self.queue(device).handle

    def load(self, image: KernelImage, device: DeviceInfo) -> SyclKernel:
        """Build ``image`` for ``device``; refuses what the device cannot run before the driver sees it.

        OutOfResources, too, when the driver made a kernel of it that runs in smaller work groups only.
        """
        kernel = self._built(image, device)
        check_resources(image.metadata, {"threads": kernel.kernel.work_group_size})
        return kernel

    def _built(self, image: KernelImage, device: DeviceInfo) -> SyclKernel:
        module = read_module(image.data)
        found = self._found[device.index]
        check_architecture(image, found)
        check_device(module, found)
        table = argument_table(image.metadata.signature.parameters)
        check_parameters(image, module.parameters.get(image.metadata.name), table)
        row = ARCHITECTURES[found.info.arch]
        check_resources(image.metadata, {"shared": row.shared, "threads": row.threads})
        self._trials.refuse_wrong(image, found)
        queue, programs = self.queue(device), self.programs(device)
        api = programs.interop.api if programs is not None else None
        check_extensions(module, found, api)
        image = with_clock(image, found, api)
        modes, name = modes_of(image), image.metadata.entry
        kept = programs.kept(image.data, name, modes) if programs is not None else None
        if kept is not None:
            return kernel_of(kept, name, queue)
        self._trials.before_build(image, found, modes[0])
        return build_kernel(self._sycl, image, queue, modes, programs)

    def programs(self, device: DeviceInfo) -> Programs | None:
        """The driver's programs on ``device``; None where the driver cannot be reached below SYCL."""
        if device.index not in self._programs:
            sycl_queue = self.queue(device).queue
            below = interop_of(self._sycl, sycl_queue)
            images = images_of(sycl_queue.sycl_device, below.api) if below is not None else None
            self._programs[device.index] = Programs(below, images) if below and images else None
        return self._programs[device.index]

    def launcher(self, kernel: LoadedKernel, image: KernelImage) -> Launch:
        """A launcher of ``kernel``, on the device that it was loaded for."""
        if not isinstance(kernel, SyclKernel):
            raise InternalError(f"{type(kernel).__name__} was loaded by another runtime")
        return make_launch(self._sycl, kernel, image)

    def memory(self, device: DeviceInfo) -> UsmMemory:
        """USM device memory of ``device``."""
        return UsmMemory(self._sycl, self.queue(device))

    def synchronize(self) -> None:
        """Wait for all work of the current device."""
        self.queue(self.current_device()).wait()

    def elapsed(self, function: Callable[[], object]) -> float:
        """Seconds by the device's clock for the work that ``function`` enqueues."""
        return self.queue(self.current_device()).timed(function)

    def flush_cache(self) -> None:
        """Overwrite a buffer larger than the caches; where launches go to queues of callers, wait for it."""
        device = self.current_device()
        queue, nbytes = self.queue(device), _FLUSH_BYTES[self._found[device.index].is_cpu]
        if device.index not in self._scratch:
            self._scratch[device.index] = self.memory(device).alloc(nbytes)
        queue.settle()
        event = self._sycl.memset(queue.handle, self._scratch[device.index], 0, nbytes)
        if event:
            self._sycl.delete_event(event)
        queue.settle()
