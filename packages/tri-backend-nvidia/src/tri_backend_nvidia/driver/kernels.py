"""Kernels in a device's memory, and how they are launched.

A launch is the hot path of the whole system: packing the arguments is one call, launching is one call of
the driver through ctypes, and everything that can be known before is.  What can go wrong is found out
from the driver's status afterwards.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Callable, Sequence
from dataclasses import field

from tri_backend_nvidia.driver import (
    counters,
    empty_tensor_maps,
    faults,
    launches,
    records,
    scratch,
    tensor_maps,
)
from tri_backend_nvidia.driver.devices import attribute
from tri_backend_nvidia.driver.driver import address_of, call, initialised
from tri_backend_nvidia.parameters import parameter_sizes
from tri_core.api import Argument, DeviceError, DeviceInfo, HiddenParameters, KernelImage, Launch, Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_runtime import ArgumentPool, ArgumentTable, DescriptorEncoder, argument_table, check_parameters

__all__ = ["CudaKernel", "encoder", "launcher", "load"]

#: shared memory that a CTA can have without asking, in bytes
_SHARED_WITHOUT_ASKING = 48 * 1024

#: the driver's status codes that mean: this thread has no context, or another device's
_WRONG_CONTEXT = frozenset((201, 400))

_LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    *[ctypes.c_uint] * 7,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
)


@dataclass(frozen=True, eq=False)
class CudaKernel:
    """A loaded kernel: the driver's ``function`` (an address) in the primary context of ``device``."""

    function: int
    device: DeviceInfo
    #: registers per thread, bytes of local memory per thread, threads per CTA at most
    resources: dict[str, int] = field(default_factory=dict)
    #: of a kernel that is persistent, or launched cooperatively
    residency: launches.Residency | None = None


def load(image: KernelImage, device: DeviceInfo) -> CudaKernel:
    """Load ``image`` into the current context; DeviceError when it is not for this device.

    LaunchError when it takes other arguments than a launch passes: the driver would read past them.
    """
    check_parameters(image, parameter_sizes(image.data, _entry(image)), _table(image))
    module = call("cuModuleLoadData", image.data)
    function = call("cuModuleGetFunction", module, _entry(image).encode())
    if image.metadata.shared > _SHARED_WITHOUT_ASKING:
        limit = initialised().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        call("cuFuncSetAttribute", function, limit, image.metadata.shared)
    records.connect(module, image.metadata.name, image.metadata.attrs)
    if HiddenParameters.from_attrs(image.metadata.attrs).counter:
        counters.of_device(device.index).prepare()
    if empty_tensor_maps.may_be_needed(image.metadata.attrs):
        empty_tensor_maps.of_device(device.index)
    kernel = CudaKernel(int(function), device, _resources(function), _residency(function, image, device))
    # unloading at exit would come after the driver's own clean-up
    weakref.finalize(kernel, _unload, module, call("cuCtxGetCurrent")).atexit = False
    return kernel


def _table(image: KernelImage) -> ArgumentTable:
    """Argument table of a launch: the kernel's own arguments, then hidden ones."""
    hidden = HiddenParameters.from_attrs(image.metadata.attrs)
    return argument_table((*image.metadata.signature.parameters, *hidden.parameters), len(hidden.descriptors))


def _entry(image: KernelImage) -> str:
    return image.metadata.entry


def _resources(function: object) -> dict[str, int]:
    attributes = initialised().CUfunction_attribute
    wanted = {
        "registers": attributes.CU_FUNC_ATTRIBUTE_NUM_REGS,
        "spills": attributes.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
        "threads": attributes.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
    }
    return {name: int(call("cuFuncGetAttribute", which, function)) for name, which in wanted.items()}


def _residency(function: object, image: KernelImage, device: DeviceInfo) -> launches.Residency | None:
    is_persistent = HiddenParameters.from_attrs(image.metadata.attrs).grid
    if not is_persistent and not image.metadata.options.get(launches.COOPERATIVE):
        return None
    units = attribute(device.index, "MULTIPROCESSOR_COUNT")
    return launches.residency(function, image.metadata.threads, image.metadata.shared, units)


def _unload(module: object, context: object) -> None:
    try:
        call("cuCtxPushCurrent", context)
        try:
            call("cuModuleUnload", module)
        finally:
            call("cuCtxPopCurrent")
    except DeviceError:  # the context is gone, and the module with it
        return


@functools.cache
def launch_function() -> Callable[..., int]:
    """``cuLaunchKernel`` as a ctypes function: half the cost of the bindings' own, which convert more."""
    return _LAUNCH(address_of("cuLaunchKernel"))


def _started(
    kernel: CudaKernel, hidden: HiddenParameters, name: str
) -> Callable[[tuple[int, int, int]], tuple[int, int, int]] | None:
    """Function from a launch's grid to the CTAs to start, which may refuse it; None if they are the grid."""
    residency = kernel.residency
    if residency is None:
        return (lambda grid: hidden.ctas(grid, 1)) if hidden.cluster > 1 else None
    if hidden.grid:  # all of them are resident, as a cooperative launch wants it
        return lambda grid: hidden.ctas(grid, residency.ctas)

    def checked(grid: tuple[int, int, int]) -> tuple[int, int, int]:
        ctas = hidden.ctas(grid, residency.ctas)
        residency.check(name, ctas, kernel.device)
        return ctas

    return checked


def _numbers(
    kernel: CudaKernel, hidden: HiddenParameters, in_context: Callable[[DeviceInfo, Callable[[], int]], int]
) -> Callable[[tuple[int, int, int], int], Sequence[int]] | None:
    """Function from a grid and a stream to the plain hidden parameters of a launch; None if there are none."""
    # the address of scratch memory is known in the middle of a launch
    later = (0,) if hidden.scratch else ()
    if not hidden.counter:
        given = hidden.grid or later
        return (lambda grid, stream: (*(grid if hidden.grid else ()), *later)) if given else None
    device = kernel.device
    own = counters.of_device(device.index)

    def numbers(grid: tuple[int, int, int], stream: int) -> Sequence[int]:
        counter = in_context(device, lambda: own.of(stream))
        return (*grid, counter, *later) if hidden.grid else (counter, *later)

    return numbers


def encoder(kernel: CudaKernel, hidden: HiddenParameters) -> DescriptorEncoder | None:
    """Encoder of the tensor maps of a launch; None if there are none."""
    if not hidden.descriptors:
        return None
    empty_map = functools.partial(empty_tensor_maps.place, kernel.device.index)
    return DescriptorEncoder(hidden.descriptors, tensor_maps.encode, empty_map)


def _check_scratch(image: KernelImage, hidden: HiddenParameters) -> None:
    """Unsupported where the next launch may begin before this one has ended, and would get the same memory."""
    if hidden.scratch and image.metadata.options.get(launches.PROGRAMMATIC):
        raise Unsupported(
            f"{image.metadata.name} makes tensor descriptors in memory that the next launch may use before this one has ended",
            remedy="pass launch_pdl=False, or tma_copies=False: descriptors are then accessed by pointers",
        )


def launcher(
    kernel: CudaKernel,
    image: KernelImage,
    *,
    current_stream: Callable[[int], int],
    in_context: Callable[[DeviceInfo, Callable[[], int]], int],
    explain: Callable[[int, tuple[int, int, int]], Exception],
    many_devices: bool,
) -> Launch:
    """A callable that launches ``kernel``.

    ``in_context`` runs a function with the device's context current; ``explain`` makes the exception for a
    status and a grid.  With ``many_devices`` every launch goes through ``in_context``: the calling thread's
    context may be another device's.
    """
    hidden = HiddenParameters.from_attrs(image.metadata.attrs)
    encode = encoder(kernel, hidden)
    pool = ArgumentPool(_table(image))
    pack, take, give = pool.table.pack_into, pool.take, pool.give
    numbers = launches.attributes_of(image.metadata.options)
    start = launches.extended(numbers) if numbers else launch_function()
    index, device = kernel.device.index, kernel.device
    name, note = image.metadata.name, faults.note
    function, started = kernel.function, _started(kernel, hidden, name)
    made = _numbers(kernel, hidden, in_context)
    threads, shared = image.metadata.threads, image.metadata.shared
    _check_scratch(image, hidden)
    needs_context = many_devices or hidden.scratch

    def launch(grid: tuple[int, int, int], stream: int | None, args: Sequence[Argument]) -> None:
        if 0 in grid:
            return
        x, y, z = grid if started is None else started(grid)
        stream = current_stream(index) if stream is None else stream
        note(name)
        block = take()
        try:
            pack(block.memory, args if made is None else (*args, *made(grid, stream)))
            if encode is not None:
                pool.table.put_descriptors(block.memory, encode(args))

            def go() -> int:
                return start(function, x, y, z, threads, 1, 1, shared, stream, block.pointers, None)

            if hidden.scratch:
                place = block.address + pool.table.offsets[-1]
                go = scratch.brought(go, place, x * y * z * hidden.scratch, stream, index)
            status = in_context(device, go) if needs_context else go()
            if status in _WRONG_CONTEXT:
                status = in_context(device, go)
        finally:
            give(block)
        if status:
            raise explain(status, grid) from None

    # the closure keeps the kernel, and so its module, alive
    launch.kernel = kernel  # type: ignore[attr-defined]
    return launch
