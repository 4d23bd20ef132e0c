"""The runtime: devices, memory and launches, in terms of :class:`tri_backend_toy.driver.Driver`."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field

from tri_core.api import (
    Argument,
    DeviceError,
    DeviceInfo,
    HostMemory,
    InternalError,
    KernelImage,
    Launch,
    LoadedKernel,
)
from tri_runtime import ArgumentPool, RuntimeBase, argument_table, check_grid, check_resources

from tri_backend_toy import driver
from tri_backend_toy.architectures import DEVICE_KIND, target
from tri_backend_toy.driver import Driver

__all__ = ["ToyRuntime", "probe"]


def probe() -> Sequence[DeviceInfo]:
    """The devices of this machine; none without a driver."""
    found = driver.connect()
    return _describe(found) if found is not None else ()


def _describe(found: Driver) -> tuple[DeviceInfo, ...]:
    return tuple(
        DeviceInfo(kind=DEVICE_KIND, index=index, arch=arch, name=name)
        for index, (arch, name) in enumerate(found.devices())
    )


@dataclass(frozen=True)
class DriverMemory:
    """The memory of a device, as :class:`tri_runtime.DeviceMemory`."""

    driver: Driver
    device: int

    def alloc(self, nbytes: int) -> int:
        """The address of ``nbytes`` new bytes."""
        return self.driver.allocate(self.device, nbytes)

    def free(self, address: int) -> None:
        """Give memory back."""
        self.driver.free(self.device, address)

    def copy_in(self, destination: int, source: int, nbytes: int) -> None:
        """Copy from the host."""
        self.driver.copy_in(self.device, destination, source, nbytes)

    def copy_out(self, destination: int, source: int, nbytes: int) -> None:
        """Copy to the host; returns when the bytes are there."""
        self.driver.copy_out(self.device, destination, source, nbytes)


@dataclass(frozen=True, eq=False)
class DriverKernel:
    """A kernel that the driver has loaded: its ``function`` on ``device``."""

    name: str
    function: int
    device: DeviceInfo
    resources: dict[str, int] = field(default_factory=dict)


class ToyRuntime(RuntimeBase):
    """Arrays of the host are copied to the device for a launch, and back after it.

    ``given`` replaces the driver of this machine, for tests.
    """

    device_kind = DEVICE_KIND
    host_memory: HostMemory = "staged"
    no_device_remedy = "install the driver, or use sim:toy:t1"

    def __init__(self, given: Driver | None = None) -> None:
        super().__init__()
        self._given = given

    @functools.cached_property
    def driver(self) -> Driver:
        """The driver; DeviceError where there is none."""
        found = self._given or driver.connect()
        if found is None:
            raise DeviceError("Toy's driver is not installed", remedy=self.no_device_remedy)
        return found

    def devices(self) -> Sequence[DeviceInfo]:
        """The devices of this machine."""
        return probe() if self._given is None else _describe(self._given)

    def memory(self, device: DeviceInfo) -> DriverMemory:
        """The memory of ``device``."""
        self.check_process()
        return DriverMemory(self.driver, device.index)

    def load(self, image: KernelImage, device: DeviceInfo) -> LoadedKernel:
        """Load a kernel; OutOfResources and DeviceError (another architecture) before the driver is asked."""
        self.check_process()
        metadata = image.metadata
        check_resources(metadata, target(metadata.target, device).spec.limits)
        if metadata.target.arch != device.arch:
            raise DeviceError(
                f"code for {metadata.target} cannot run on {device.name} ({device.arch})",
                remedy=f"compile for {metadata.target.backend}:{device.arch}",
            )
        name = metadata.entry_points[0]
        function = self.driver.load(device.index, image.data, name)
        kernel = DriverKernel(name, function, device, dict(metadata.resources))
        # unloading when the interpreter ends would come after the driver's own clean-up
        weakref.finalize(kernel, self.driver.unload, device.index, function).atexit = False
        return kernel

    def launcher(self, kernel: LoadedKernel, image: KernelImage) -> Launch:
        """Launcher of a kernel: everything that does not change from one launch to the next is done here."""
        if not isinstance(kernel, DriverKernel):
            raise InternalError(f"{type(kernel).__name__} was loaded by another runtime")
        metadata, device = image.metadata, kernel.device
        pool = ArgumentPool(argument_table(metadata.signature.parameters))
        threads = metadata.num_warps * metadata.threads_per_warp
        limits = target(metadata.target, device).spec.limits
        enqueue = self.driver.launch

        def launch(grid: tuple[int, int, int], stream: int | None, args: Sequence[Argument]) -> None:
            check_grid(grid, limits)
            if 0 in grid:
                return
            block = pool.take()
            pool.table.pack_into(block.memory, args)
            enqueue(device.index, kernel.function, grid, threads, stream or 0, block.address, pool.table.size)
            pool.give(block)

        return launch

    def synchronize(self) -> None:
        """Wait for all work of the current device."""
        self.driver.synchronize(self.current_device().index)
