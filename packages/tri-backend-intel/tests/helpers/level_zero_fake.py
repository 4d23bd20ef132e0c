"""Level Zero's functions in Python, behind pointers as a loader has them: memory of the host, kernels that are Python functions.

What was made and not given back is in ``living``; ``fails`` has results for functions to give.  A kernel is called with the values of
its arguments, as bytes, and the grid.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tri_backend_intel.runtime.level_zero.api import (
    FUNCTIONS,
    CommandQueueGroupProperties,
    DeviceComputeProperties,
    DeviceModuleProperties,
    DeviceP2PProperties,
    DeviceProperties,
    DriverProperties,
    EventPoolDesc,
    GroupCount,
    KernelDesc,
    KernelProperties,
    KernelTimestampResult,
    MemoryAllocationProperties,
    ModuleDesc,
    Result,
)

Kernel = Callable[[Sequence[bytes], tuple[int, int, int]], None]

GPU, INTEL, PVC = 1, 0x8086, 0x0BD5
#: nanoseconds a tick, and ticks that a launch takes
TICK, TICKS = 100, 50


def put(address: int, type_: Any, value: Any) -> int:
    """Write ``value`` to ``address``."""
    type_.from_address(address).value = value
    return 0


class FakeLevelZero:
    """A loader with one driver of ``devices``; ``kernels`` by name, ``spills`` by build options."""

    def __init__(self, kernels: dict[str, Kernel], devices: int = 1, version: int = 0) -> None:
        self.kernels, self.count, self.version = kernels, devices, version
        self.device_id, self.vendor, self.parts = PVC, INTEL, 0
        self.spills: dict[str, int] = {}
        self.fails: dict[str, int] = {}
        self.calls: list[str] = []
        self.living: dict[int, tuple[str, Any]] = {}
        self.memory: dict[int, tuple[int, Any]] = {}
        self.arguments: dict[int, dict[int, bytes]] = {}
        self.inside: set[int] = set()
        self.raced = False
        self.clock = 0
        self.without: set[str] = set()
        self._pointers: dict[str, Any] = {}
        self._next = 0x1000
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("ze") or name in self.__dict__.get("without", ()):
            raise AttributeError(name)
        if name not in self._pointers:
            body = getattr(self, "on_" + name, None)
            if body is None:
                raise AttributeError(name)

            def call(*arguments: Any) -> int:
                self.calls.append(name)
                return int(self.fails.get(name) or body(*arguments) or 0)

            self._pointers[name] = ctypes.CFUNCTYPE(ctypes.c_uint32, *FUNCTIONS[name])(call)
        return self._pointers[name]

    def _new(self, out: int, kind: str, what: Any = None) -> int:
        with self._lock:
            self._next += 16
            self.living[self._next] = (kind, what)
            return put(out, ctypes.c_void_p, self._next)

    def _gone(self, handle: int, kind: str) -> int:
        assert self.living.pop(handle)[0] == kind
        return 0

    def _handles(self, count: int, out: int, handles: Sequence[int]) -> int:
        put(count, ctypes.c_uint32, len(handles))
        if out:
            for i, handle in enumerate(handles):
                put(out + 8 * i, ctypes.c_void_p, handle)
        return 0

    def on_zeInit(self, flags: int) -> int:
        assert flags == 1
        return 0

    def on_zeDriverGet(self, count: int, out: int) -> int:
        return self._handles(count, out, [0x10])

    def on_zeDriverGetProperties(self, driver: int, out: int) -> int:
        DriverProperties.from_address(out).driverVersion = self.version
        return 0

    def on_zeDriverGetApiVersion(self, driver: int, out: int) -> int:
        return put(out, ctypes.c_uint32, 1 << 16 | 6)

    def on_zeDeviceGet(self, driver: int, count: int, out: int) -> int:
        return self._handles(count, out, [0x20 + i for i in range(self.count)])

    def on_zeDeviceGetSubDevices(self, device: int, count: int, out: int) -> int:
        return self._handles(count, out, [device + 0x10 * (i + 1) for i in range(self.parts)])

    def on_zeDeviceGetProperties(self, device: int, out: int) -> int:
        said = DeviceProperties.from_address(out)
        assert said.stype == DeviceProperties.STYPE
        said.type, said.vendorId, said.deviceId, said.name = GPU, self.vendor, self.device_id, b"Fake GPU "
        said.flags = 2 if device >= 0x30 else 0
        said.coreClockRate, said.timerResolution, said.kernelTimestampValidBits = 1600, TICK, 32
        return 0

    def on_zeDeviceGetComputeProperties(self, device: int, out: int) -> int:
        said = DeviceComputeProperties.from_address(out)
        said.maxTotalGroupSize, said.maxSharedLocalMemory, said.numSubGroupSizes = 1024, 128 << 10, 2
        said.maxGroupCountX = said.maxGroupCountY = said.maxGroupCountZ = 2**32 - 1
        said.subGroupSizes[0], said.subGroupSizes[1] = 16, 32
        return 0

    def on_zeDeviceGetModuleProperties(self, device: int, out: int) -> int:
        DeviceModuleProperties.from_address(out).flags = 1 | 2 | 4
        return 0

    def on_zeDeviceGetCommandQueueGroupProperties(self, device: int, count: int, out: int) -> int:
        put(count, ctypes.c_uint32, 2)
        if out:
            groups = (CommandQueueGroupProperties * 2).from_address(out)
            groups[0].flags, groups[1].flags = 2, 1 | 2  # the first one copies only
        return 0

    def on_zeDeviceCanAccessPeer(self, device: int, other: int, out: int) -> int:
        return put(out, ctypes.c_uint8, int(device != other))

    def on_zeDeviceGetP2PProperties(self, device: int, other: int, out: int) -> int:
        DeviceP2PProperties.from_address(out).flags = 1
        return 0

    def on_zeContextCreate(self, driver: int, desc: int, out: int) -> int:
        return self._new(out, "context")

    def on_zeContextDestroy(self, context: int) -> int:
        return self._gone(context, "context")

    def on_zeCommandListCreateImmediate(self, context: int, device: int, desc: int, out: int) -> int:
        return self._new(out, "list", device)

    def on_zeCommandListDestroy(self, handle: int) -> int:
        return self._gone(handle, "list")

    def on_zeCommandListHostSynchronize(self, handle: int, timeout: int) -> int:
        assert self.living[handle][0] == "list"
        return 0

    def on_zeCommandListAppendMemoryCopy(
        self, handle: int, to: int, source: int, size: int, *rest: Any
    ) -> int:
        ctypes.memmove(to, source, size)
        return 0

    def on_zeCommandListAppendMemoryFill(
        self, handle: int, at: int, pattern: int, length: int, size: int, *rest: Any
    ) -> int:
        ctypes.memset(at, ctypes.c_uint8.from_address(pattern).value, size)
        return 0

    def on_zeCommandListAppendBarrier(self, handle: int, event: int, *rest: Any) -> int:
        self.living[event] = ("event", (self.clock, self.clock + 1))
        self.clock += 1
        return 0

    def on_zeEventPoolCreate(self, context: int, desc: int, count: int, devices: int, out: int) -> int:
        assert EventPoolDesc.from_address(desc).flags == 1 | 4
        return self._new(out, "pool")

    def on_zeEventPoolDestroy(self, pool: int) -> int:
        return self._gone(pool, "pool")

    def on_zeEventCreate(self, pool: int, desc: int, out: int) -> int:
        return self._new(out, "event")

    def on_zeEventDestroy(self, event: int) -> int:
        return self._gone(event, "event")

    def on_zeEventHostSynchronize(self, event: int, timeout: int) -> int:
        return 0 if self.living[event][1] else Result.NOT_READY

    def on_zeEventQueryStatus(self, event: int) -> int:
        return 0 if self.living[event][1] else Result.NOT_READY

    def on_zeEventQueryKernelTimestamp(self, event: int, out: int) -> int:
        times = KernelTimestampResult.from_address(out).global_
        times.kernelStart, times.kernelEnd = (t % 2**32 for t in self.living[event][1])
        return 0

    def _allocate(self, kind: int, size: int, out: int) -> int:
        memory = ctypes.create_string_buffer(size + 256)
        address = -(-ctypes.addressof(memory) // 256) * 256
        self.memory[address] = (kind, memory)
        return put(out, ctypes.c_void_p, address)

    def on_zeMemAllocDevice(
        self, context: int, desc: int, size: int, align: int, device: int, out: int
    ) -> int:
        if size > 1 << 30:
            return Result.ERROR_OUT_OF_DEVICE_MEMORY
        return self._allocate(2, size, out)

    def on_zeMemAllocHost(self, context: int, desc: int, size: int, align: int, out: int) -> int:
        return self._allocate(1, size, out)

    def on_zeMemAllocShared(
        self, context: int, d: int, h: int, size: int, align: int, device: int, out: int
    ) -> int:
        return self._allocate(3, size, out)

    def on_zeMemGetAllocProperties(self, context: int, address: int, out: int, device: int) -> int:
        MemoryAllocationProperties.from_address(out).type = self.memory.get(address, (0, None))[0]
        return 0

    def on_zeMemFree(self, context: int, address: int) -> int:
        del self.memory[address]
        return 0

    def on_zeModuleCreate(self, context: int, device: int, desc: int, out: int, log: int) -> int:
        given = ModuleDesc.from_address(desc)
        data, options = ctypes.string_at(given.pInputModule, given.inputSize), given.pBuildFlags.decode()
        if given.format == 1:
            if not data.startswith(b"native "):
                return Result.ERROR_INVALID_NATIVE_BINARY
            options = data.removeprefix(b"native ").decode()
        elif b"bad" in data:
            self._new(log, "log", b"line 3: this is bad")
            return Result.ERROR_MODULE_BUILD_FAILURE
        return self._new(out, "module", options)

    def on_zeModuleDestroy(self, module: int) -> int:
        return self._gone(module, "module")

    def on_zeModuleBuildLogGetString(self, log: int, size: int, text: bytes) -> int:
        return put(size, ctypes.c_size_t, 0)

    def on_zeModuleBuildLogDestroy(self, log: int) -> int:
        return self._gone(log, "log")

    def on_zeModuleGetNativeBinary(self, module: int, size: int, data: int) -> int:
        made = b"native " + self.living[module][1].encode()
        put(size, ctypes.c_size_t, len(made))
        if data:
            ctypes.memmove(data, made, len(made))
        return 0

    def on_zeModuleGetKernelNames(self, module: int, count: int, out: int) -> int:
        names = [ctypes.c_char_p(name.encode()) for name in self.kernels]
        self._names = names
        return self._handles(count, out, [ctypes.cast(n, ctypes.c_void_p).value or 0 for n in names])

    def on_zeKernelCreate(self, module: int, desc: int, out: int) -> int:
        name = KernelDesc.from_address(desc).pKernelName.decode()
        if name not in self.kernels:
            return Result.ERROR_INVALID_KERNEL_NAME
        return self._new(out, "kernel", (name, self.living[module][1]))

    def on_zeKernelDestroy(self, kernel: int) -> int:
        return self._gone(kernel, "kernel")

    def on_zeKernelGetProperties(self, kernel: int, out: int) -> int:
        said = KernelProperties.from_address(out)
        said.privateMemSize, said.spillMemSize = 64, self.spills.get(self.living[kernel][1][1], 0)
        return 0

    def on_zeKernelSetGroupSize(self, kernel: int, x: int, y: int, z: int) -> int:
        return Result.ERROR_INVALID_GROUP_SIZE_DIMENSION if x > 512 else 0

    def on_zeKernelSetIndirectAccess(self, kernel: int, flags: int) -> int:
        assert flags == 7
        return 0

    def on_zeKernelSetArgumentValue(self, kernel: int, index: int, size: int, value: int) -> int:
        self.raced |= kernel in self.inside and index == 0
        self.inside.add(kernel)
        self.arguments.setdefault(kernel, {})[index] = ctypes.string_at(value, size)
        return 0

    def on_zeCommandListAppendLaunchKernel(self, handle: int, kernel: int, groups: int, *rest: Any) -> int:
        count = GroupCount.from_address(groups)
        given = self.arguments.get(kernel, {})
        name = self.living[kernel][1][0]
        grid = (count.groupCountX, count.groupCountY, count.groupCountZ)
        self.kernels[name]([given[i] for i in sorted(given)], grid)
        self.inside.discard(kernel)
        self.clock += TICKS
        return 0
