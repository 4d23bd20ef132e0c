"""The runtime: the programs of a grid run one after the other in this process, on the arrays' own memory."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tri_core.api import (
    Argument,
    DeviceInfo,
    HostMemory,
    InternalError,
    KernelImage,
    Launch,
    LoadedKernel,
)
from tri_runtime import ArgumentPool, RuntimeBase, argument_table, check_grid
from tri_runtime.loader import LoadedObject

from tri_backend_loops.entry import ENTRY, PROGRAM
from tri_backend_loops.plugin import KIND, LIMITS, tri_probe

__all__ = ["LoopsRuntime"]

_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int32] * PROGRAM)


@dataclass(frozen=True, eq=False)
class LoopsKernel:
    """A loaded kernel: its code, and the function of a program in it."""

    code: LoadedObject
    function: Callable[..., None]
    resources: dict[str, int] = field(default_factory=dict)


class LoopsRuntime(RuntimeBase):
    """Kernels read and write arrays of the host where they are; a launch is over when it returns."""

    device_kind = KIND
    host_memory: HostMemory = "direct"
    fork_safe = True

    def devices(self) -> Sequence[DeviceInfo]:
        """The devices of this machine."""
        return tri_probe(KIND)

    def load(self, image: KernelImage, device: DeviceInfo) -> LoadedKernel:
        """Link the object; functions of C's library are those of this process."""
        del device
        code = LoadedObject(image.data, [ENTRY.format(image.metadata.entry)])
        return LoopsKernel(code, _FUNCTION(code.addresses[0]))

    def launcher(self, kernel: LoadedKernel, image: KernelImage) -> Launch:
        """A callable that runs the programs of a grid, x fastest."""
        if not isinstance(kernel, LoopsKernel):
            raise InternalError(f"{type(kernel).__name__} was loaded by another runtime")
        pool = ArgumentPool(argument_table(image.metadata.signature.parameters))
        function = kernel.function

        def launch(grid: tuple[int, int, int], stream: int | None, args: Sequence[Argument]) -> None:
            check_grid(grid, LIMITS)
            block = pool.take()
            pool.table.pack_into(block.memory, args)
            for z, y, x in itertools.product(*map(range, reversed(grid))):
                function(block.address, *grid, x, y, z)
            pool.give(block)

        return launch

    def synchronize(self) -> None:
        """A launch is over when it returns."""
