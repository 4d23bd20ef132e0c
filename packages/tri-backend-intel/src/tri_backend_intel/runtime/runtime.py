"""The runtime of Intel devices, over whichever driver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from tri_backend_intel.architectures import ARCHITECTURES, DEVICE_KIND
from tri_backend_intel.knobs import KNOBS
from tri_backend_intel.runtime import streams
from tri_backend_intel.runtime.abilities import (
    check_architecture,
    check_device,
    check_extensions,
    with_clock,
)
from tri_backend_intel.runtime.build import announced
from tri_backend_intel.runtime.devices import devices
from tri_backend_intel.runtime.drivers import driver_named, reasons
from tri_backend_intel.runtime.found import FoundDevice
from tri_backend_intel.runtime.interfaces import Driver, Kernel, Queue
from tri_backend_intel.runtime.modes import modes_of
from tri_backend_intel.runtime.native import Programs
from tri_backend_intel.runtime.records import parameters_of
from tri_backend_intel.runtime.trial import Trials
from tri_backend_intel.spirv import read_module
from tri_core import knobs
from tri_core.api import (
    DeviceInfo,
    HostMemory,
    InternalError,
    KernelImage,
    Launch,
    LaunchPlan,
    LoadedKernel,
)
from tri_core.forks import cached_property
from tri_core.lazy_dataclasses import dataclass
from tri_runtime import DeviceMemory, RuntimeBase, argument_table, check_parameters, check_resources

__all__ = ["IntelRuntime"]

#: bytes written to evict a device's caches: more than the last level of any of them holds
_FLUSH_BYTES = {True: 64 << 20, False: 512 << 20}

_NO_DEVICE = (
    "install Intel's GPU driver (Level Zero), or for a device on this CPU: pip install 'tri-backend-intel[cpu]'; "
    'without a device, simulate one: tri.target("sim:intel:pvc"), say'
)
#: dpctl itself has memory, but (since 0.22) no arrays
_HOST_ARRAYS = "pass arrays of dpnp, memory of dpctl.memory, or PyTorch's tensors on xpu"


@dataclass(frozen=True)
class _Loaded:
    """A driver's ``kernel`` on ``device``."""

    kernel: Kernel
    device: FoundDevice

    @property
    def resources(self) -> dict[str, int]:
        """Resources of the kernel from the driver."""
        return self.kernel.resources


class IntelRuntime(RuntimeBase):
    """Intel's devices, through the drivers that :mod:`tri_backend_intel.runtime.drivers` chooses.

    Host arrays are used in place on a CPU device (the OpenCL driver reads any address), copied to a GPU of Level Zero, and refused
    by one of SYCL, whose libraries have arrays there.  A launch on a CPU device returns when the kernel is done, one on a GPU when
    it is enqueued.
    """

    device_kind = DEVICE_KIND
    no_device_remedy = _NO_DEVICE

    def __init__(self) -> None:
        super().__init__()
        self._queues: dict[int, Queue] = {}
        self._programs: dict[int, Programs | None] = {}
        self._scratch: dict[int, int] = {}
        self._trials = Trials()
        knobs.register(KNOBS)  # again, for who makes a runtime without the plugin manager
        self.host_memory = self._found[0].host_memory if self._found else "refused"
        self.host_array_remedy = _HOST_ARRAYS if self._found else _NO_DEVICE
        if not self._found and reasons():
            self.no_device_remedy = f"{_NO_DEVICE} ({'; '.join(why.message for why in reasons())})"

    @cached_property
    def _found(self) -> tuple[FoundDevice, ...]:
        return devices()

    def _driver(self, device: DeviceInfo) -> Driver:
        self.check_process()
        return driver_named(self._found[device.index].driver)

    def devices(self) -> Sequence[DeviceInfo]:
        """The devices present: GPUs first, then the OpenCL CPU device."""
        return tuple(f.info for f in self._found)

    def set_device(self, index: int) -> None:
        """Make device ``index`` current; ``host_memory`` follows its kind."""
        super().set_device(index)
        self.host_memory = self._found[index].host_memory

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
        return self._found[device.index].host_memory

    def queue(self, device: DeviceInfo) -> Queue:
        """The queue of ``device``, made at its first use."""
        driver = self._driver(device)
        if device.index not in self._queues:
            self._queues[device.index] = driver.open(self._found[device.index])
        return self._queues[device.index]

    def current_stream(self, device: DeviceInfo) -> int:
        """The handle of the device's queue: a ``sycl::queue``, a command list of Level Zero, a queue of OpenCL."""
        return self.queue(device).handle

    def stream_handle(self, stream: Any, device: DeviceInfo | None) -> int:
        """The handle of what a launch gives as ``stream=``; LaunchError for what is none of ``device``."""
        return streams.handle_of(stream, device)

    def on_stream(self, stream: int, device: DeviceInfo) -> AbstractContextManager[Any]:
        """A block in which ``stream`` is the current one of ``device``; Unsupported where nothing can make it so."""
        return streams.current(stream, self.queue(device).handle, device.index)

    def load(self, image: KernelImage, device: DeviceInfo) -> LoadedKernel:
        """Build ``image`` for ``device``; refuses what the device cannot run before the driver sees it.

        OutOfResources, too, when the driver made a kernel of it that runs in smaller work groups only.
        """
        kernel = self._built(image, device)
        check_resources(image.metadata, {"threads": kernel.threads})
        return _Loaded(kernel, self._found[device.index])

    def _built(self, image: KernelImage, device: DeviceInfo) -> Kernel:
        module = read_module(image.data)
        found = self._found[device.index]
        check_architecture(image, found)
        check_device(module, found)
        table = argument_table(parameters_of(image))
        check_parameters(image, module.parameters.get(image.metadata.name), table)
        row = ARCHITECTURES[found.info.arch]
        check_resources(image.metadata, {"shared": row.shared, "threads": row.threads})
        self._trials.refuse_wrong(image, found)
        driver, queue, programs = self._driver(device), self.queue(device), self.programs(device)
        api = programs.interop.api if programs is not None else None
        check_extensions(module, found, api)
        image = with_clock(image, found, api)
        modes, name = modes_of(image), image.metadata.entry
        kept = programs.kept(image.data, name, modes) if programs is not None else None
        if kept is not None:
            return driver.kernel(kept, image, queue)
        with announced(image, found.info.name):
            self._trials.before_build(image, found, modes[0])
            return driver.build(image, queue, modes, programs)

    def programs(self, device: DeviceInfo) -> Programs | None:
        """The driver's programs on ``device``; None where it cannot be reached for that."""
        if device.index not in self._programs:
            found = self._found[device.index]
            self._programs[device.index] = self._driver(device).programs(found, self.queue(device))
        return self._programs[device.index]

    def launcher(self, kernel: LoadedKernel, image: KernelImage) -> Launch:
        """A launcher of ``kernel``, on the device that it was loaded for."""
        if not isinstance(kernel, _Loaded):
            raise InternalError(f"{type(kernel).__name__} was loaded by another runtime")
        return driver_named(kernel.device.driver).launcher(kernel.kernel, image)

    def launch_plan(self, kernel: LoadedKernel, image: KernelImage) -> LaunchPlan | None:
        """Launch plan of ``kernel`` for compiled code; None if its driver leaves it to :meth:`launcher`."""
        if not isinstance(kernel, _Loaded):
            raise InternalError(f"{type(kernel).__name__} was loaded by another runtime")
        return driver_named(kernel.device.driver).launch_plan(kernel.kernel, image)

    def memory(self, device: DeviceInfo) -> DeviceMemory:
        """USM device memory of ``device``."""
        return self._driver(device).memory(self.queue(device))

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
        queue.fill(self._scratch[device.index], 0, nbytes)
        queue.settle()
