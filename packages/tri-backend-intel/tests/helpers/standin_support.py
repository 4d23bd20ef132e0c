"""A caller of Level Zero's C API: through the loader, or straight at a driver's tables; kernels for the stand-in driver."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

import tri
import tri.language as tl
from tri_backend_intel.runtime.level_zero.api.enums import Result
from tri_backend_intel.runtime.level_zero.api.functions import FUNCTIONS
from tri_backend_intel.runtime.level_zero.api.structs import (
    CommandQueueDesc,
    ContextDesc,
    DeviceMemAllocDesc,
    EventDesc,
    EventPoolDesc,
    GroupCount,
    HostMemAllocDesc,
    KernelDesc,
    ModuleDesc,
)
from tri_backend_intel.runtime.standin import StandIn
from tri_backend_intel.runtime.standin.tables import TABLES
from tri_core import knobs

FOREVER = (1 << 64) - 1
IN_ORDER, TIMED = 2, 4 | 1


class Failed(Exception):
    """A call that gave ``code``."""

    def __init__(self, name: str, code: int, log: str = "") -> None:
        super().__init__(f"{name}: {Result(code).name} {log}")
        self.code, self.log = code, log


class Caller:
    """Calls functions by name; Failed for all that give an error."""

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self.functions = functions

    def code(self, name: str, *arguments: Any) -> int:
        return int(self.functions[name](*arguments))

    def __call__(self, name: str, *arguments: Any) -> None:
        code = self.code(name, *arguments)
        if code:
            raise Failed(name, code)

    def handle(self, name: str, *arguments: Any) -> int:
        made = ctypes.c_void_p()
        self(name, *arguments, ctypes.byref(made))
        assert made.value
        return made.value

    def listed(self, name: str, *arguments: Any) -> list[int]:
        count = ctypes.c_uint32()
        self(name, *arguments, ctypes.byref(count), None)
        found = (ctypes.c_void_p * count.value)()
        self(name, *arguments, ctypes.byref(count), found)
        return [h for h in found if h]

    def drivers(self) -> list[int]:
        self("zeInit", 1)
        return self.listed("zeDriverGet")


def direct(driver: StandIn, minor: int = 13) -> Caller:
    """A caller of the tables that ``driver`` gives a loader of API version 1.``minor``."""
    found = {}
    for table, fields in TABLES.items():
        for field, address in zip(fields, driver.library.table(table, minor), strict=False):
            if address and field.function in FUNCTIONS:
                found[field.function] = ctypes.CFUNCTYPE(ctypes.c_uint32, *FUNCTIONS[field.function])(address)
    return Caller(found)


def loaded() -> Caller:
    """A caller through the loader."""
    library = ctypes.CDLL("libze_loader.so.1")
    found = {}
    for name, kinds in FUNCTIONS.items():
        function = getattr(library, name, None)
        if function is not None:
            function.argtypes, function.restype = kinds, ctypes.c_uint32
            found[name] = function
    return Caller(found)


class Session:
    """A context and an immediate queue on one device."""

    def __init__(self, call: Caller, driver: int, device: int, mode: int = 2) -> None:
        self.call, self.device = call, device
        self.context = call.handle("zeContextCreate", driver, ctypes.byref(ContextDesc.new()))
        desc = CommandQueueDesc.new(flags=IN_ORDER, mode=mode)
        self.queue = call.handle("zeCommandListCreateImmediate", self.context, device, ctypes.byref(desc))
        self._made: list[tuple[str, int]] = []
        self._memory: list[int] = []

    def close(self) -> None:
        for name, handle in reversed(self._made):
            self.call(name, handle)
        for address in self._memory:
            self.call("zeMemFree", self.context, address)
        self.call("zeCommandListDestroy", self.queue)
        self.call("zeContextDestroy", self.context)

    def made(self, destroy: str, handle: int) -> int:
        self._made.append((destroy, handle))
        return handle

    def allocate(self, nbytes: int) -> int:
        desc = ctypes.byref(DeviceMemAllocDesc.new())
        made = self.call.handle("zeMemAllocDevice", self.context, desc, nbytes, 64, self.device)
        self._memory.append(made)
        return made

    def allocate_host(self, nbytes: int) -> int:
        made = self.call.handle(
            "zeMemAllocHost", self.context, ctypes.byref(HostMemAllocDesc.new()), nbytes, 64
        )
        self._memory.append(made)
        return made

    def copy(
        self, to: int, source: int, nbytes: int, signal: int | None = None, waits: Sequence[int] = ()
    ) -> None:
        events = (ctypes.c_void_p * len(waits))(*waits) if waits else None
        self.call("zeCommandListAppendMemoryCopy", self.queue, to, source, nbytes, signal, len(waits), events)

    def write(self, to: int, array: npt.NDArray[Any]) -> None:
        self.copy(to, array.ctypes.data, array.nbytes)
        self.wait()

    def read(self, source: int, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        found = np.empty_like(like)
        self.copy(found.ctypes.data, source, found.nbytes)
        self.wait()
        return found

    def wait(self, timeout: int = FOREVER) -> None:
        self.call("zeCommandListHostSynchronize", self.queue, timeout)

    def events(self, count: int) -> list[int]:
        desc = EventPoolDesc.new(flags=TIMED, count=count)
        pool = self.call.handle("zeEventPoolCreate", self.context, ctypes.byref(desc), 0, None)
        self.made("zeEventPoolDestroy", pool)
        descs = [EventDesc.new(index=i) for i in range(count)]
        return [
            self.made("zeEventDestroy", self.call.handle("zeEventCreate", pool, ctypes.byref(d)))
            for d in descs
        ]

    def build(self, image: bytes, options: str = "", form: int = 0) -> int:
        data = ctypes.create_string_buffer(image, len(image))
        desc = ModuleDesc.new(
            format=form,
            inputSize=len(image),
            pInputModule=ctypes.addressof(data),
            pBuildFlags=options.encode(),
        )
        made, log = ctypes.c_void_p(), ctypes.c_void_p()
        code = self.call.code(
            "zeModuleCreate",
            self.context,
            self.device,
            ctypes.byref(desc),
            ctypes.byref(made),
            ctypes.byref(log),
        )
        text = self.text("zeModuleBuildLogGetString", log.value) if log.value else ""
        if log.value:
            self.call("zeModuleBuildLogDestroy", log.value)
        if code:
            raise Failed("zeModuleCreate", code, text)
        assert made.value
        return self.made("zeModuleDestroy", made.value)

    def bytes_of(self, name: str, handle: int) -> bytes:
        size = ctypes.c_size_t()
        self.call(name, handle, ctypes.byref(size), None)
        buffer = ctypes.create_string_buffer(size.value)
        self.call(name, handle, ctypes.byref(size), buffer)
        return buffer.raw

    def text(self, name: str, handle: int) -> str:
        return self.bytes_of(name, handle).rstrip(b"\0").decode()

    def kernel(self, module: int, name: str) -> int:
        desc = KernelDesc.new(pKernelName=name.encode())
        return self.made("zeKernelDestroy", self.call.handle("zeKernelCreate", module, ctypes.byref(desc)))

    def launch(
        self,
        kernel: int,
        threads: int,
        grid: tuple[int, int, int],
        arguments: Sequence[Any],
        signal: int | None = None,
        waits: Sequence[int] = (),
    ) -> None:
        self.call("zeKernelSetGroupSize", kernel, threads, 1, 1)
        for i, value in enumerate(arguments):
            self.call("zeKernelSetArgumentValue", kernel, i, ctypes.sizeof(value), ctypes.byref(value))
        events = (ctypes.c_void_p * len(waits))(*waits) if waits else None
        groups = GroupCount(*grid)
        self.call(
            "zeCommandListAppendLaunchKernel",
            self.queue,
            kernel,
            ctypes.byref(groups),
            signal,
            len(waits),
            events,
        )


@contextmanager
def session(call: Caller, index: int = 0, mode: int = 2) -> Iterator[Session]:
    """A session on device ``index``; closed only where the body ends well, as after a loss nothing can be."""
    (driver,) = call.drivers()
    made = Session(call, driver, call.listed("zeDeviceGet", driver)[index], mode)
    yield made
    made.close()


@tri.jit
def add(x, y, out, n, B: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0) * B + tl.arange(0, B)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@tri.jit
def matmul(a, b, c, K, B: tl.constexpr, BK: tl.constexpr):  # type: ignore[no-untyped-def]
    rows, ks = tl.arange(0, B), tl.arange(0, BK)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + (k + ks)[None, :])
        right = tl.load(b + (k + ks)[:, None] * B + rows[None, :])
        acc = tl.dot(left, right, acc)
    tl.store(c + rows[:, None] * B + rows[None, :], acc)


SOURCES: dict[str, Callable[[], Any]] = {
    "add": lambda: tri.ASTSource(
        add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "B": "constexpr"}, {"B": 64}
    ),
    "matmul": lambda: tri.ASTSource(
        matmul,
        {"a": "*fp16", "b": "*fp16", "c": "*fp32", "K": "i32", "B": "constexpr", "BK": "constexpr"},
        {"B": 32, "BK": 32},
    ),
}


@functools.cache
def compiled(name: str, arch: str = "pvc", carry: bool = True) -> Any:
    """The kernel ``name`` for ``arch``, which carries what the stand-in runs."""
    with knobs.scope(INTEL_STANDIN=("pvc",) if carry else ()):
        return tri.compile(SOURCES[name](), target=f"intel:{arch}")
