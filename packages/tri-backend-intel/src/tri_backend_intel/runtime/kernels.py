"""Kernels in a SYCL context: built from SPIR-V, checked against the device, launched."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from tri_backend_intel.runtime.grids import check_extents, most_groups
from tri_backend_intel.runtime.memory import UsmMemory
from tri_backend_intel.runtime.native import NativeRefused, Program, Programs
from tri_backend_intel.runtime.queues import DeviceQueue
from tri_backend_intel.runtime.records import parameters_of
from tri_backend_intel.runtime.sycl import KERNEL_ARGUMENT, POINTER_ARGUMENT, Sycl, driver_error
from tri_backend_intel.spirv.registers import registers_of
from tri_core.api import Argument, KernelImage, Launch, ToolchainError
from tri_core.lazy_dataclasses import dataclass
from tri_runtime import ArgumentTable, argument_table

__all__ = [
    "SyclKernel",
    "build_kernel",
    "kernel_of",
    "make_launch",
]


@dataclass(frozen=True)
class SyclKernel:
    """A built kernel; ``handle`` is the address of its ``sycl::kernel``, owned by ``kernel``."""

    kernel: Any
    handle: int
    queue: DeviceQueue
    program: Program

    @property
    def threads(self) -> int:
        """Threads of a work group at most."""
        return int(self.kernel.work_group_size)

    @property
    def resources(self) -> dict[str, int]:
        """``threads`` per work group at most, ``stack``: bytes of private memory per work item (spills among them).

        On GPUs, where the driver says it, ``spills``: bytes of a hardware thread, and its ``registers``.
        """
        found = {"threads": self.threads, "stack": self.kernel.private_mem_size}
        if self.program.spills is not None and not self.queue.device.is_cpu:
            found["spills"] = self.program.spills
            found |= registers_of(self.program.options)
        return found


def build_kernel(
    sycl: Sycl, image: KernelImage, queue: DeviceQueue, modes: Sequence[str], programs: Programs | None
) -> SyclKernel:
    """The driver's program for ``image``, built with the options among ``modes`` that spill least.

    Without ``programs``, with the first of ``modes``, and not kept.  ToolchainError when the driver's compiler refuses it.
    """
    name = image.metadata.entry
    try:
        if programs is not None:
            return kernel_of(programs.build(image.data, name, modes), name, queue)
        program = sycl.dpctl.program.create_program_from_spirv(queue.queue, image.data, modes[0])
        return kernel_of(Program(program, modes[0]), name, queue)
    except (sycl.dpctl.program.SyclProgramCompilationError, NativeRefused, ValueError) as error:
        said = isinstance(error, NativeRefused)
        raise ToolchainError(
            f"the driver of {queue.device.info.name} cannot compile kernel {name}"
            + (f": {error}" if said else ""),
            remedy="set DPCTL_VERBOSITY=error before the program starts to see the driver's reason"
            if not said
            else "the SPIR-V is in the compiled kernel's asm['spv']",
            tool="SYCL",
            returncode=None,
            log=str(error),
        ) from error


def kernel_of(program: Program, name: str, queue: DeviceQueue) -> SyclKernel:
    """Kernel ``name`` of ``program``; ValueError when it has none."""
    if not program.program.has_sycl_kernel(name):
        raise ValueError(f"the module has no kernel {name}")
    kernel = program.program.get_sycl_kernel(name)
    return SyclKernel(kernel, kernel.addressof_ref(), queue, program)


class _Block:
    """Memory of one launch: the packed scalars, one pointer per argument, the global range (z, y, x)."""

    __slots__ = ("arguments", "extent", "memory")

    def __init__(self, table: ArgumentTable) -> None:
        self.memory = ctypes.create_string_buffer(max(table.size, 1))
        base = ctypes.addressof(self.memory)
        self.arguments: Any = (ctypes.c_void_p * max(len(table.offsets), 1))(
            *(base + o for o in table.offsets)
        )
        self.extent = (ctypes.c_size_t * 3)()


def make_launch(sycl: Sycl, kernel: SyclKernel, image: KernelImage) -> Launch:
    """A launcher of ``kernel``.

    On a queue of the caller's that is not in order, barriers put the kernel between what was submitted before and
    what is submitted later.  On a CPU device it waits for the kernel: arguments are the caller's own arrays there, which the caller
    reads, or drops, next.
    """
    table = argument_table(parameters_of(image))
    hidden = kernel.queue.records.arguments(image, UsmMemory(sycl, kernel.queue))
    types = _argument_types(table)
    pointers = tuple(i for i, p in enumerate(table.parameters) if p.is_pointer)
    threads, limits = image.metadata.threads, most_groups(image)
    local = (ctypes.c_size_t * 3)(1, 1, threads)
    count, handle, queue = len(table.parameters), kernel.handle, kernel.queue
    submit, wait, delete, barrier = sycl.submit, sycl.wait_queue, sycl.delete_event, sycl.barrier
    synchronous = queue.device.is_cpu
    free: list[_Block] = [_Block(table)]  # more than one only when threads launch at the same time

    def launch(grid: tuple[int, int, int], stream: int | None, args: Sequence[Argument]) -> None:
        x, y, z = grid
        if not (0 < x <= limits[0] and 0 < y <= limits[1] and 0 < z <= limits[2]):
            return check_extents(grid, limits)
        args = (*args, *hidden)
        block = free.pop() if free else _Block(table)
        table.pack_into(block.memory, args)
        arguments, extent = block.arguments, block.extent
        for i in pointers:
            arguments[i] = args[i]
        extent[0], extent[1], extent[2] = z, y, x * threads
        on = stream or queue.handle
        ordered = on != queue.handle and queue.visit(on)
        if ordered:
            delete(barrier(on))
        event = submit(handle, on, arguments, types, count, extent, local, 3, None, 0)
        free.append(block)
        if not event:
            # naming the kernel here also keeps it alive as long as its launcher
            raise driver_error(f"a launch of {kernel.kernel.get_function_name()} over the grid {grid}")
        delete(event)
        if ordered:  # what the caller submits next comes after the kernel
            delete(barrier(on))
        if synchronous:
            wait(on)
            queue.records.check()
        return None

    return launch


def _argument_types(table: ArgumentTable) -> ctypes.Array[ctypes.c_int]:
    numbers = [POINTER_ARGUMENT if p.is_pointer else KERNEL_ARGUMENT[p.type] for p in table.parameters]
    return (ctypes.c_int * max(len(numbers), 1))(*numbers)
