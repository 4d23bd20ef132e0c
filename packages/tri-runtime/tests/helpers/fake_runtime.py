"""A runtime whose device is host memory of its own: addresses are real, ownership is checked."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

from tri_core.api import Argument, DeviceInfo, HostMemory, KernelImage, Launch
from tri_runtime import RuntimeBase, check_resources


class FakeMemory:
    """Blocks of host memory at 256-byte boundaries, poisoned when allocated."""

    def __init__(self) -> None:
        self.live: dict[int, ctypes.Array[ctypes.c_char]] = {}
        self.allocations = 0
        self.copied_out = 0

    def alloc(self, nbytes: int) -> int:
        block = ctypes.create_string_buffer(b"\xa5" * (nbytes + 256))
        address = -(-ctypes.addressof(block) // 256) * 256
        self.live[address] = block
        self.allocations += 1
        return address

    def free(self, address: int) -> None:
        del self.live[address]

    def copy_in(self, destination: int, source: int, nbytes: int) -> None:
        ctypes.memmove(destination, source, nbytes)

    def copy_out(self, destination: int, source: int, nbytes: int) -> None:
        self.copied_out += nbytes
        ctypes.memmove(destination, source, nbytes)


class FakeRuntime(RuntimeBase):
    """Two devices; a kernel is a Python callable; time passes only where ``elapsed`` says so."""

    device_kind = "fake"

    def __init__(self, host_memory: HostMemory = "staged", count: int = 2) -> None:
        super().__init__()
        self.host_memory = host_memory
        self.count = count
        self.blocks = FakeMemory()
        self.clock = 0.0
        self.log: list[str] = []

    def devices(self) -> Sequence[DeviceInfo]:
        return [DeviceInfo("fake", i, "f1") for i in range(self.count)]

    def memory(self, device: DeviceInfo) -> FakeMemory:
        del device
        return self.blocks

    def synchronize(self) -> None:
        self.log.append("sync")

    def flush_cache(self) -> None:
        self.log.append("flush")

    def load(self, image: KernelImage, device: DeviceInfo) -> object:
        del device
        check_resources(image.metadata, {"shared": 1024, "threads": 256})
        return object()

    def launcher(self, kernel: object, image: KernelImage) -> Launch:
        def launch(grid: tuple[int, int, int], stream: int | None, args: Sequence[Argument]) -> None:
            self.log.append(f"{image.metadata.name}{grid}{stream}{tuple(args)}")

        del kernel
        return launch

    def elapsed(self, function: Callable[[], object]) -> float:
        before = self.clock
        function()
        return self.clock - before
