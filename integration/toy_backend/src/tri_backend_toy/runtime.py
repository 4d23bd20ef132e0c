"""The toy runtime: host arrays are staged into the arena, programs run one after the other."""

from __future__ import annotations

import ctypes
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from tri_backend_toy.machine import Arena, Program
from tri_core.api import Argument, ArrayArgument, DeviceInfo, HostMemory, KernelImage, Launch, LoadedKernel
from tri_core.mlir import ir, session

__all__ = ["ToyRuntime"]

DEVICE = DeviceInfo(kind="toy", index=0, arch="t1", name="toy machine")


@dataclass(frozen=True)
class ToyKernel:
    """A parsed kernel."""

    module: Any
    entry: Any

    @property
    def resources(self) -> dict[str, int]:
        """Nothing is scarce here."""
        return {}


class ToyRuntime:
    """One device, no streams."""

    device_kind = "toy"
    host_memory: HostMemory = "staged"
    fork_safe = True

    def __init__(self) -> None:
        self.arena = Arena()

    def devices(self) -> Sequence[DeviceInfo]:
        """The one machine."""
        return [DEVICE]

    def current_device(self) -> DeviceInfo:
        """The one machine."""
        return DEVICE

    def set_device(self, index: int) -> None:
        """There is only device 0."""

    def current_stream(self, device: DeviceInfo) -> int:
        """No streams."""
        return 0

    def load(self, image: KernelImage, device: DeviceInfo) -> ToyKernel:
        """Parse the image's TTIR."""
        with session():
            module = ir.Module.parse(image.data.decode())
            entry = next(
                op for op in module.body.operations if op.attributes["sym_name"].value == image.metadata.name
            )
            return ToyKernel(module, entry.regions[0].blocks[0])

    def launcher(self, kernel: LoadedKernel, image: KernelImage) -> Launch:
        """Programs in order, x fastest."""
        entry = cast(ToyKernel, kernel).entry

        def launch(grid: tuple[int, int, int], stream: int | None, args: Sequence[Argument]) -> None:
            with session():
                for z, y, x in itertools.product(*(range(n) for n in reversed(grid))):
                    Program(self.arena, (x, y, z), grid).run(entry, [_scalar(a) for a in args])

        return launch

    @contextmanager
    def staged(self, arrays: Sequence[ArrayArgument]) -> Iterator[Sequence[Argument]]:
        """Copies in the arena, written back at the end; arrays at one address share a place."""
        places = {a.pointer: self.arena.allocate(a.nbytes) for a in arrays}
        for array in arrays:
            source = (ctypes.c_uint8 * array.nbytes).from_address(array.pointer)
            place = places[array.pointer]
            self.arena.data[place : place + array.nbytes] = np.frombuffer(memoryview(source), np.uint8)
        yield [places[a.pointer] for a in arrays]
        for array in (a for a in arrays if a.writable):
            place = places[array.pointer]
            ctypes.memmove(array.pointer, self.arena.data[place:].tobytes(), array.nbytes)
        self.arena = Arena()

    def synchronize(self) -> None:
        """Nothing is pending."""

    def elapsed(self, function: Callable[[], object]) -> float:
        """Host time: launches are synchronous."""
        start = time.perf_counter()
        function()
        return time.perf_counter() - start


def _scalar(value: Argument) -> Any:
    if isinstance(value, bool):
        return np.bool_(value)
    return np.float32(value) if isinstance(value, float) else np.int64(value)
