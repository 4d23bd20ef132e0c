"""Kernels in a GPU's memory, and how they are launched."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from tri_backend_amd.hsaco import CodeObject, read_code_object
from tri_backend_amd.runtime.devices import target_id_of
from tri_backend_amd.runtime.hip import Hip
from tri_backend_amd.target_ids import refused_modes
from tri_core.api import Argument, DeviceError, DeviceInfo, KernelImage, Launch, LaunchError
from tri_core.lazy_dataclasses import dataclass
from tri_runtime import ArgumentPool, argument_table, check_grid, check_parameters

__all__ = ["HipKernel", "launcher", "load"]

#: the words that introduce the packed arguments, their size, and the end of the list
_BUFFER_POINTER, _BUFFER_SIZE, _END = 1, 2, 3


@dataclass(frozen=True, eq=False)
class HipKernel:
    """A loaded kernel: HIP's ``function`` on ``device``."""

    name: str
    function: Any
    device: DeviceInfo
    #: registers per work item, bytes of scratch per work item, work items per work group at most
    resources: dict[str, int] = field(default_factory=dict)


def load(loaded: Hip, image: KernelImage, device: DeviceInfo) -> HipKernel:
    """Load ``image`` on ``device``; DeviceError when it is for another processor.

    LaunchError when it takes other arguments than a launch passes.
    """
    code = read_code_object(image.data)
    if code.processor != device.arch:
        raise DeviceError(
            f"code for {code.processor} cannot run on {device.name} ({device.arch})",
            remedy=f"compile for amd:{device.arch}",
        )
    if code.modes:
        _check_modes(loaded, code, device)
    name = image.metadata.entry
    record = code.kernels.get(name)
    check_parameters(
        image,
        None if record is None else record.parameter_sizes,
        argument_table(image.metadata.signature.parameters),
    )
    with loaded.on_device(device.index):
        module = loaded.call("hipModuleLoadData", image.data)
    function = loaded.call("hipModuleGetFunction", module, name.encode())
    kernel = HipKernel(name, function, device, dict(image.metadata.resources))
    # unloading at exit would come after HIP's own clean-up
    weakref.finalize(kernel, _unload, loaded, module).atexit = False
    return kernel


def _check_modes(loaded: Hip, code: CodeObject, device: DeviceInfo) -> None:
    """DeviceError for code that needs a mode in which ``device`` is not."""
    target_id = target_id_of(loaded, device.index)
    if wrong := refused_modes(code.modes, target_id):
        raise DeviceError(
            f"code for {code.processor}:{':'.join(wrong)} cannot run on {device.name}, which is {target_id}",
            remedy=f"compile for amd:{device.arch}, which runs in every mode, or for amd:{target_id}",
        )


def _unload(loaded: Hip, module: Any) -> None:
    try:
        loaded.call("hipModuleUnload", module)
    except DeviceError:  # the device was reset, and the module is gone with it
        return


class _Extra:
    """The list that tells HIP where the packed arguments are; ``address`` is what a launch takes."""

    def __init__(self, block: int, size: int) -> None:
        self._size = ctypes.c_size_t(size)
        words = (_BUFFER_POINTER, block, _BUFFER_SIZE, ctypes.addressof(self._size), _END)
        self._words = (ctypes.c_void_p * len(words))(*words)
        self.address = ctypes.addressof(self._words)


def launcher(
    loaded: Hip,
    kernel: HipKernel,
    image: KernelImage,
    limits: dict[str, int],
    stream: Callable[[int], int],
    *,
    several: bool = False,
) -> Launch:
    """A callable that launches ``kernel`` on its device, whichever is current; ``stream`` gives the current stream of a device.

    With ``several`` devices, LaunchError for a stream that is given and of another device.
    """
    pool = ArgumentPool(argument_table(image.metadata.signature.parameters))
    table, threads = pool.table, image.metadata.threads
    extras: dict[int, _Extra] = {}
    launch_kernel, index, function = loaded.api.hipModuleLaunchKernel, kernel.device.index, kernel.function

    def launch(grid: tuple[int, int, int], on: int | None, args: Sequence[Argument]) -> None:
        x, y, z = grid
        if x <= 0 or y <= 0 or z <= 0:
            return _check_empty(grid)
        block = pool.take()
        table.pack_into(block.memory, args)
        extra = extras.get(block.address)
        if extra is None:
            extra = extras[block.address] = _Extra(block.address, table.size)
        queue = stream(index) if on is None else on
        if several and on:
            _check_stream(loaded, kernel, on)
        with loaded.on_device(index):
            (status,) = launch_kernel(function, x, y, z, threads, 1, 1, 0, queue, None, extra.address)
        pool.give(block)
        if int(status):
            check_grid(grid, limits)
            # naming the kernel here also keeps it loaded as long as its launcher lives
            raise loaded.error(f"launching {kernel.name} with grid {grid}", status)
        return None

    return launch


def _check_stream(loaded: Hip, kernel: HipKernel, stream: int) -> None:
    """LaunchError for a ``stream`` of another device than the kernel's: HIP has no such check in all versions."""
    index = loaded.call("hipStreamGetDevice", stream)
    if index != kernel.device.index:
        raise LaunchError(
            f"{kernel.name} is loaded on device {kernel.device.index}; the stream {stream:#x} is of device {index}",
            remedy="launch on a stream of the device that holds the arguments",
        )


def _check_empty(grid: tuple[int, int, int]) -> None:
    """An extent of 0 launches nothing; a negative one is the caller's mistake."""
    if min(grid) < 0:
        raise LaunchError(f"the grid is {grid}; extents of at least 0 are expected")
