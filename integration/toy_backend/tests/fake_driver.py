"""A driver without a device: memory of the host, and kernels that are Python functions.

Tests of the runtime use it.  It is also the shortest example of a class for ``driver.connect``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tri_core.api import DeviceError, OutOfResources

__all__ = ["FakeDriver"]

#: what stands in for a kernel: (grid, bytes of the packed arguments)
Kernel = Callable[[tuple[int, int, int], bytes], None]


@dataclass
class FakeDriver:
    """One device with ``capacity`` bytes of memory, which knows ``kernels`` by their names."""

    kernels: dict[str, Kernel] = field(default_factory=dict)
    architecture: str = "t1"
    capacity: int = 1 << 20
    memory: dict[int, ctypes.Array[ctypes.c_char]] = field(default_factory=dict)
    loaded: dict[int, str] = field(default_factory=dict)
    threads: list[int] = field(default_factory=list)

    def devices(self) -> Sequence[tuple[str, str]]:
        return [(self.architecture, "fake device")]

    def allocate(self, device: int, nbytes: int) -> int:
        used = sum(map(len, self.memory.values()))
        if used + nbytes > self.capacity:
            raise OutOfResources(
                f"the device has no {nbytes} bytes left",
                remedy="free arrays that are not needed",
                resource="memory",
                need=nbytes,
                have=self.capacity - used,
            )
        block = ctypes.create_string_buffer(nbytes + 256)
        address = -(-ctypes.addressof(block) // 256) * 256
        self.memory[address] = block
        return address

    def free(self, device: int, address: int) -> None:
        del self.memory[address]

    def copy_in(self, device: int, destination: int, source: int, nbytes: int) -> None:
        ctypes.memmove(destination, source, nbytes)

    def copy_out(self, device: int, destination: int, source: int, nbytes: int) -> None:
        ctypes.memmove(destination, source, nbytes)

    def load(self, device: int, image: bytes, name: str) -> int:
        if name.encode() not in image:
            raise DeviceError(f"the image has no kernel {name}")
        function = max(self.loaded, default=0) + 1
        self.loaded[function] = name
        return function

    def unload(self, device: int, function: int) -> None:
        del self.loaded[function]

    def launch(
        self,
        device: int,
        function: int,
        grid: tuple[int, int, int],
        threads: int,
        stream: int,
        arguments: int,
        nbytes: int,
    ) -> None:
        self.threads.append(threads)
        self.kernels[self.loaded[function]](grid, ctypes.string_at(arguments, nbytes))

    def synchronize(self, device: int) -> None:
        """A launch is over when it returns."""
