"""A fake of ``hip.hip``: device memory is host memory, launches are recorded with the bytes they pass."""

from __future__ import annotations

import ctypes
import enum
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any


class hipError_t(enum.IntEnum):
    hipSuccess = 0
    hipErrorInvalidValue = 1
    hipErrorOutOfMemory = 2
    hipErrorNotFound = 500


@dataclass(frozen=True)
class Launched:
    function: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    stream: int
    arguments: bytes
    device: int = 0


@dataclass
class FakeHip:
    """The functions that the runtime calls, with their results' shapes as hip-python gives them."""

    archs: tuple[str, ...] = ("gfx942:sramecc+:xnack-",)
    fail: dict[str, hipError_t] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    launches: list[Launched] = field(default_factory=list)
    current: int = 0
    #: the current devices when modules were loaded
    loaded: list[int] = field(default_factory=list)
    live: dict[int, Any] = field(default_factory=dict)
    hipError_t = hipError_t
    hipMemcpyKind = SimpleNamespace(hipMemcpyDefault=4)

    def _done(self, name: str, *results: Any) -> tuple[Any, ...]:
        self.calls.append(name)
        return (self.fail.get(name, hipError_t.hipSuccess), *results)

    def hipGetErrorString(self, status: hipError_t) -> tuple[hipError_t, bytes]:
        return hipError_t.hipSuccess, f"words for {status.name}".encode()

    def hipGetDeviceCount(self) -> tuple[Any, ...]:
        return self._done("hipGetDeviceCount", len(self.archs))

    def hipGetDeviceProperties(self, index: int) -> tuple[Any, ...]:
        properties = SimpleNamespace(gcnArchName=self.archs[index].encode(), name=b"Fake %d" % index)
        return self._done("hipGetDeviceProperties", properties)

    def hipGetDevice(self) -> tuple[Any, ...]:
        return self._done("hipGetDevice", self.current)

    def hipSetDevice(self, index: int) -> tuple[Any, ...]:
        self.current = index
        return self._done("hipSetDevice")

    def hipMalloc(self, size: int) -> tuple[Any, ...]:
        memory = ctypes.create_string_buffer(size)
        address = ctypes.addressof(memory)
        self.live[address] = memory
        return self._done("hipMalloc", address)

    def hipFree(self, address: int) -> tuple[Any, ...]:
        del self.live[address]
        return self._done("hipFree")

    def hipMemcpyAsync(self, dst: int, src: int, size: int, kind: int, stream: int) -> tuple[Any, ...]:
        ctypes.memmove(dst, src, size)
        return self._done("hipMemcpyAsync")

    def hipMemsetAsync(self, dst: int, value: int, size: int, stream: int) -> tuple[Any, ...]:
        ctypes.memset(dst, value, size)
        return self._done("hipMemsetAsync")

    def hipModuleLoadData(self, image: bytes) -> tuple[Any, ...]:
        self.loaded.append(self.current)
        return self._done("hipModuleLoadData", ("module", image))

    def hipModuleGetFunction(self, module: Any, name: bytes) -> tuple[Any, ...]:
        return self._done("hipModuleGetFunction", name.decode())

    def hipModuleUnload(self, module: Any) -> tuple[Any, ...]:
        return self._done("hipModuleUnload")

    def hipModuleLaunchKernel(self, f: str, *rest: Any) -> tuple[Any, ...]:
        *extents, shared, stream, params, extra = rest
        assert shared == 0
        assert params is None
        words = (ctypes.c_void_p * 5).from_address(extra)
        assert (words[0], words[2], words[4]) == (1, 2, 3)
        size = ctypes.c_size_t.from_address(words[3]).value
        packed = ctypes.string_at(words[1], size)
        made = Launched(f, tuple(extents[:3]), tuple(extents[3:]), stream, packed, self.current)
        self.launches.append(made)
        return self._done("hipModuleLaunchKernel")

    def hipDeviceSynchronize(self) -> tuple[Any, ...]:
        return self._done("hipDeviceSynchronize")

    def hipStreamSynchronize(self, stream: int) -> tuple[Any, ...]:
        return self._done("hipStreamSynchronize")

    def hipEventCreate(self) -> tuple[Any, ...]:
        return self._done("hipEventCreate", SimpleNamespace(at=0))

    def hipEventRecord(self, event: Any, stream: int) -> tuple[Any, ...]:
        event.at = len(self.launches)
        return self._done("hipEventRecord")

    def hipEventSynchronize(self, event: Any) -> tuple[Any, ...]:
        return self._done("hipEventSynchronize")

    def hipEventElapsedTime(self, begin: Any, end: Any) -> tuple[Any, ...]:
        return self._done("hipEventElapsedTime", 2.0 * (end.at - begin.at))
