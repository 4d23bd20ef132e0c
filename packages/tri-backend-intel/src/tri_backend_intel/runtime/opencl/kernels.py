"""Programs and kernels of OpenCL, and their launches (OpenCL 3.0, sections 5.8 to 5.10)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from tri_backend_intel.runtime.grids import check_extents, most_groups
from tri_backend_intel.runtime.opencl.queue import ClMemory, ClQueue
from tri_backend_intel.runtime.records import parameters_of
from tri_core.api import Argument, DeviceError, KernelImage, Launch, LaunchError
from tri_core.lazy_dataclasses import dataclass
from tri_runtime import ArgumentPool, argument_table

__all__ = ["ClKernel", "ClProgram", "make_kernel", "make_launch"]

#: CL_KERNEL_WORK_GROUP_SIZE, CL_KERNEL_PRIVATE_MEM_SIZE
_GROUP_SIZE, _PRIVATE = 0x11B0, 0x11B4


class ClProgram:
    """A built program, given back with this object."""

    def __init__(self, queue: ClQueue, handle: int) -> None:
        self.queue, self.handle = queue, handle
        self._release = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(
            ctypes.cast(queue.library.library.clReleaseProgram, ctypes.c_void_p).value or 0
        )

    def has_kernel(self, name: str) -> bool:
        """True if it has kernel ``name``."""
        status = ctypes.c_int()
        made = self.queue.library.status("clCreateKernel", self.handle, name.encode(), ctypes.byref(status))
        if made:
            self.queue.library.status("clReleaseKernel", made)
        return bool(made)

    def __del__(self) -> None:
        self._release(self.handle)


@dataclass(frozen=True, eq=False)
class ClKernel:
    """A kernel of ``program`` at ``handle``."""

    program: ClProgram
    handle: int
    name: str

    @property
    def queue(self) -> ClQueue:
        """Queue on which it runs."""
        return self.program.queue

    @property
    def threads(self) -> int:
        """Threads of a work group at most."""
        return self._number(_GROUP_SIZE)

    @property
    def resources(self) -> dict[str, int]:
        """``threads`` per work group at most, ``stack``: bytes of private memory per work item (spills among them)."""
        return {"threads": self.threads, "stack": self._number(_PRIVATE)}

    def _number(self, what: int) -> int:
        found, device = ctypes.c_uint64(), self.queue.cl_device.handle
        self.queue.library(
            "clGetKernelWorkGroupInfo", self.handle, device, what, 8, ctypes.byref(found), None
        )
        return found.value

    def __del__(self) -> None:
        self.queue.library.status("clReleaseKernel", self.handle)


def make_kernel(program: ClProgram, name: str) -> ClKernel:
    """Kernel ``name`` of ``program``; DeviceError when it has none."""
    return ClKernel(
        program, program.queue.library.made("clCreateKernel", program.handle, name.encode()), name
    )


def make_launch(kernel: ClKernel, image: KernelImage) -> Launch:
    """A launcher of ``kernel``, which returns when it is done: the arguments are the caller's own arrays."""
    table = argument_table(parameters_of(image))
    hidden = kernel.queue.records.arguments(image, ClMemory(kernel.queue))
    pool, threads, queue = ArgumentPool(table), image.metadata.threads, kernel.queue
    library, own, limits = queue.library, queue.handle, most_groups(image)
    local = (ctypes.c_size_t * 3)(threads, 1, 1)
    values = [
        (i, size, offset)
        for i, (p, size, offset) in enumerate(zip(table.parameters, table.sizes, table.offsets, strict=True))
        if not p.is_pointer
    ]
    pointers = [i for i, p in enumerate(table.parameters) if p.is_pointer]

    def launch(grid: tuple[int, int, int], stream: int | None, args: Sequence[Argument]) -> None:
        x, y, z = grid
        if not (0 < x <= limits[0] and 0 < y <= limits[1] and 0 < z <= limits[2]):
            return check_extents(grid, limits)
        if stream and stream != own:
            raise LaunchError(
                f"kernel {kernel.name} was launched on a stream that is not its device's queue of OpenCL",
                remedy="a queue of SYCL needs dpctl: pip install 'tri-backend-intel[sycl]', and TRI_INTEL_DRIVER=sycl",
            )
        block = pool.take()
        args = (*args, *hidden)
        table.pack_into(block.memory, args)
        extent = (ctypes.c_size_t * 3)(x * threads, y, z)
        with queue.lock:
            for i in pointers:
                _check(kernel, "an argument", queue.set_pointer(kernel.handle, i, args[i]))
            for i, size, offset in values:
                _check(
                    kernel,
                    "an argument",
                    library.status("clSetKernelArg", kernel.handle, i, size, block.address + offset),
                )
            status = library.status(
                "clEnqueueNDRangeKernel", own, kernel.handle, 3, None, extent, local, 0, None, None
            )
        pool.give(block)
        _check(kernel, f"a launch over the grid {grid}", status)
        queue.wait()
        return None

    return launch


def _check(kernel: ClKernel, what: str, status: int) -> None:
    if status:
        raise DeviceError(f"OpenCL refused {what} of {kernel.name} with error {status}")
