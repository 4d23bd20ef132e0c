"""Modules and kernels on a queue, and their launches (Level Zero specification, "Modules and Kernels")."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from tri_backend_intel.runtime.grids import check_extents, most_groups
from tri_backend_intel.runtime.level_zero.api import (
    KernelDesc,
    KernelIndirectAccessFlag,
    KernelProperties,
    Result,
)
from tri_backend_intel.runtime.level_zero.errors import error
from tri_backend_intel.runtime.level_zero.launch import LAUNCH, code
from tri_backend_intel.runtime.level_zero.memory import ZeMemory
from tri_backend_intel.runtime.level_zero.queue import ZeQueue
from tri_backend_intel.runtime.records import parameters_of
from tri_backend_intel.spirv.registers import registers_of
from tri_core.api import (
    Argument,
    HiddenNumbers,
    KernelImage,
    Launch,
    LaunchError,
    LaunchPlan,
    OutOfResources,
)
from tri_core.lazy_dataclasses import dataclass
from tri_runtime import ArgumentPool, argument_table
from tri_runtime.native.layouts import CONFIG

__all__ = ["ZeKernel", "ZeModule", "launch_plan", "make_kernel", "make_launch"]

_EVERYWHERE = (
    KernelIndirectAccessFlag.HOST | KernelIndirectAccessFlag.DEVICE | KernelIndirectAccessFlag.SHARED
)
_CALL = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class ZeModule:
    """A built module, given back with this object; ``queue`` outlives it."""

    def __init__(self, queue: ZeQueue, handle: int) -> None:
        self.queue = queue
        self.handle = queue.own(handle, lambda: queue.loader.status("zeModuleDestroy", handle))

    def has_kernel(self, name: str) -> bool:
        """True if it has kernel ``name``."""
        loader, count = self.queue.loader, ctypes.c_uint32()
        loader("zeModuleGetKernelNames", self.handle, ctypes.byref(count), None)
        names = (ctypes.c_char_p * count.value)()
        loader("zeModuleGetKernelNames", self.handle, ctypes.byref(count), names)
        return name.encode() in list(names)

    def __del__(self) -> None:
        self.queue.retire(self.handle)


@dataclass(frozen=True, eq=False)
class ZeKernel:
    """A kernel of ``module`` at ``handle``, with its group size set; ``options`` are those that the module was built with."""

    module: ZeModule
    handle: int
    name: str
    properties: KernelProperties
    options: str

    @property
    def queue(self) -> ZeQueue:
        """Queue on which it runs."""
        return self.module.queue

    @property
    def threads(self) -> int:
        """Threads of a work group at most."""
        return int(self.queue.ze_device.compute.maxTotalGroupSize)

    @property
    def resources(self) -> dict[str, int]:
        """``spills`` and ``registers`` of a hardware thread, ``stack``: bytes of private memory per work item."""
        found = {
            "threads": self.threads,
            "stack": self.properties.privateMemSize,
            "spills": self.properties.spillMemSize,
        }
        return found | registers_of(self.options)

    def __del__(self) -> None:
        self.queue.retire(self.handle)


def make_kernel(module: ZeModule, name: str, threads: int, options: str) -> ZeKernel:
    """Kernel ``name`` of ``module`` in groups of ``threads``; OutOfResources when the driver runs it in smaller ones only."""
    queue, loader = module.queue, module.queue.loader
    desc = KernelDesc.new(pKernelName=name.encode())
    handle = loader.handle("zeKernelCreate", module.handle, ctypes.byref(desc))
    queue.own(handle, lambda: loader.status("zeKernelDestroy", handle))
    properties = KernelProperties.new()
    made = ZeKernel(module, handle, name, properties, options)
    loader("zeKernelGetProperties", handle, ctypes.byref(properties))
    status = loader.status("zeKernelSetGroupSize", handle, threads, 1, 1)
    if status == Result.ERROR_INVALID_GROUP_SIZE_DIMENSION:
        raise OutOfResources(
            f"kernel {name} has work groups of {threads} threads, and {queue.ze_device.name} runs it in smaller ones only",
            remedy="use fewer warps, or registers: grf_mode='small'",
            resource="threads",
            need=threads,
            have=made.threads,
        )
    if status:
        raise error("zeKernelSetGroupSize", status)
    # pointers may come as integers and out of memory, so the driver cannot know from arguments what is used
    loader("zeKernelSetIndirectAccess", handle, _EVERYWHERE)
    return made


class _Record:
    """Record of one kernel that compiled code reads."""

    def __init__(self, kernel: ZeKernel, sizes: Sequence[int], commands: int) -> None:
        self._sizes = (ctypes.c_uint64 * max(len(sizes), 1))(*sizes)
        loader = kernel.queue.loader
        packed = LAUNCH.pack(
            kernel=kernel.handle,
            list=commands,
            lock=kernel.queue.lock.address,
            set_argument=loader.address("zeKernelSetArgumentValue"),
            append=loader.address("zeCommandListAppendLaunchKernel"),
            count=len(sizes),
            sizes=ctypes.addressof(self._sizes),
        )
        self._memory = ctypes.create_string_buffer(packed, len(packed))
        self.address = ctypes.addressof(self._memory)


def make_launch(kernel: ZeKernel, image: KernelImage, commands: int = 0) -> Launch:
    """A launcher of ``kernel``, which returns when the launch is appended, to the queue's list or to ``commands``."""
    table = argument_table(parameters_of(image))
    hidden = kernel.queue.records.arguments(image, ZeMemory(kernel.queue))
    own = commands or kernel.queue.handle
    record, pool = _Record(kernel, table.sizes, own), ArgumentPool(table)
    start, threads = _CALL(code().start), image.metadata.threads
    limits = _grid_limits(kernel, image)

    def launch(grid: tuple[int, int, int], stream: int | None, args: Sequence[Argument]) -> None:
        x, y, z = grid
        if not (0 < x <= limits[0] and 0 < y <= limits[1] and 0 < z <= limits[2]):
            return check_extents(grid, limits)
        block = pool.take()
        table.pack_into(block.memory, (*args, *hidden))
        config = CONFIG.format.pack(x, y, z, threads, 1, 1, 0, stream or 0, 0, 0)
        status = start(config, record.address, block.pointers, None)
        pool.give(block)
        if status:
            raise _launch_error(kernel, grid, stream, own, status)
        return None

    return launch


def launch_plan(kernel: ZeKernel, image: KernelImage) -> LaunchPlan:
    """Launch plan of ``kernel`` for compiled code."""
    metadata = image.metadata
    parameters = parameters_of(image)
    record = _Record(kernel, argument_table(parameters).sizes, kernel.queue.handle)
    hidden = HiddenNumbers(kernel.queue.records.arguments(image, ZeMemory(kernel.queue)))
    return LaunchPlan(
        name=metadata.name,
        start=code().start,
        function=record.address,
        threads=metadata.threads,
        shared=0,  # local memory is a variable of the module
        parameters=parameters,
        numbers=lambda stream: hidden,
        keep=(kernel, record, code()),
    )


def _grid_limits(kernel: ZeKernel, image: KernelImage) -> tuple[int, int, int]:
    """Work groups along x, y, z at most, on the kernel's device."""
    compute = kernel.queue.ze_device.compute
    return most_groups(image, (compute.maxGroupCountX, compute.maxGroupCountY, compute.maxGroupCountZ))


def _launch_error(
    kernel: ZeKernel, grid: tuple[int, int, int], stream: int | None, own: int, status: int
) -> Exception:
    if stream and stream != own:
        return LaunchError(
            f"kernel {kernel.name} was launched on a stream that is not Level Zero's queue of {kernel.queue.ze_device.name}",
            remedy="a queue of SYCL needs dpctl: pip install 'tri-backend-intel[sycl]', and TRI_INTEL_DRIVER=sycl",
        )
    return error(f"a launch of {kernel.name} over the grid {grid}", status)
