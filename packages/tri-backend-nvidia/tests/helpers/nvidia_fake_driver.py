"""A CUDA driver of two GPUs in Python: it keeps a log, and launches are read back through ctypes."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from types import ModuleType, SimpleNamespace

from tri_backend_nvidia.driver import (
    counters,
    devices,
    driver,
    empty_tensor_maps,
    faults,
    kernels,
    launches,
    records,
    scratch,
    streams,
    tensor_maps,
)


class CUresult(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NOT_INITIALIZED = 3
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_ASSERT = 710
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901


class _Names:
    """Any attribute is its own name."""

    def __getattr__(self, name: str) -> str:
        return name


class FakeDriver(ModuleType):
    """The functions of ``cuda.bindings.driver`` that the runtime calls."""

    CUresult = CUresult
    CUstream = cuuint32_t = cuuint64_t = staticmethod(int)

    def __init__(self, count: int = 1) -> None:
        super().__init__("fake_driver")
        self.count = count
        self.log: list[tuple[object, ...]] = []
        self.fail: dict[str, CUresult] = {}
        self.current = 0
        self.stack: list[int] = []
        self.memory: dict[int, ctypes.Array[ctypes.c_char]] = {}
        self.launches: list[SimpleNamespace] = []
        self.launch_status: list[int] = []
        self.signature: tuple[type, ...] = ()
        self.CUstream_flags = self.CUstreamCaptureMode = _Names()
        self.CUdevice_attribute = self.CUfunction_attribute = self.CUpointer_attribute = _Names()
        self.CUtensorMapDataType = self.CUtensorMapInterleave = self.CUtensorMapSwizzle = _Names()
        self.CUmemAllocationType = self.CUmemLocationType = self.CUmemPool_attribute = _Names()
        self.CUmemPoolProps = lambda: SimpleNamespace(location=SimpleNamespace())
        self.CUtensorMapL2promotion = self.CUtensorMapFloatOOBfill = _Names()
        self.entry = kernels._LAUNCH(self._launch)
        self.entry_extended = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(self._launch_extended)
        asked = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self.entries = {
            b"cuLaunchKernel": self.entry,
            b"cuLaunchKernelEx": self.entry_extended,
            b"cuCtxGetCurrent": ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self._context),
            b"cuStreamIsCapturing": asked(self._is_capturing),
            b"cuStreamGetId": asked(self._stream_id),
        }
        #: CTAs of a kernel that a multiprocessor holds, of 4
        self.resident = 3
        self.capture_mode = "GLOBAL"
        #: bytes of host memory that devices read, by their address, and how far from there they read them
        self.pinned: dict[int, int] = {}
        self.apart = 0
        #: the device whose memory an address is in
        self.ordinal = lambda pointer: 1
        #: ids of streams, where tests give them; streams that are being captured
        self.stream_ids: dict[int, int] = {}
        self.capturing: set[int] = set()

    def __getattr__(self, name: str):
        if not name.startswith("cu"):
            raise AttributeError(name)
        action = getattr(type(self), f"do_{name}", None)
        if action is None:
            raise AttributeError(name)

        def run(*args):
            self.log.append((name, *args))
            status = self.fail.get(name, CUresult.CUDA_SUCCESS)
            if status:
                return (status, None)
            result = action(self, *args)
            if isinstance(result, CUresult):
                return (result, None)
            return (status, *result) if isinstance(result, tuple) else (status, result)

        return run

    # devices
    def do_cuInit(self, flags):
        return ()

    def do_cuDeviceGetCount(self):
        return self.count

    def do_cuDeviceGet(self, index):
        return index

    def do_cuDeviceGetName(self, size, device):
        return b"Fake GPU\0\0\0"

    def do_cuDeviceGetAttribute(self, name, device):
        known = {
            "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR": 9,
            "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT": 4,
        }
        return known.get(name, 0)

    def do_cuDevicePrimaryCtxRetain(self, device):
        return 100 + device

    def do_cuCtxGetCurrent(self):
        return self.current

    def do_cuCtxGetDevice(self):
        return self.current - 100

    def do_cuCtxSetCurrent(self, context):
        self.current = context
        return ()

    def do_cuCtxPushCurrent(self, context):
        self.stack.append(self.current)
        self.current = context
        return ()

    def do_cuCtxPopCurrent(self):
        self.current = self.stack.pop()
        return 0

    def do_cuCtxSynchronize(self):
        return ()

    def do_cuGetErrorName(self, code):
        return code.name.encode()

    def do_cuGetErrorString(self, code):
        return b"words of the driver"

    # memory
    def do_cuMemAlloc(self, nbytes):
        block = ctypes.create_string_buffer(nbytes)
        address = ctypes.addressof(block)
        self.memory[address] = block
        return address

    def do_cuMemPoolCreate(self, properties):
        return properties.location.id

    def do_cuMemPoolSetAttribute(self, pool, which, value):
        return ()

    def do_cuMemAllocFromPoolAsync(self, nbytes, pool, stream):
        return self.do_cuMemAlloc(nbytes)

    def do_cuMemFreeAsync(self, address, stream):
        del self.memory[address]
        return ()

    def do_cuMemHostAlloc(self, nbytes, flags):
        return self.do_cuMemAlloc(nbytes)

    def do_cuMemHostGetDevicePointer(self, address, flags):
        return address

    def do_cuMemcpyHtoD(self, destination, source, nbytes):
        ctypes.memmove(destination, source, nbytes)
        return ()

    def do_cuMemGetInfo(self):
        return (1000, 2000)

    def do_cuMemFree(self, address):
        del self.memory[address]
        return ()

    def do_cuMemcpyHtoDAsync(self, destination, source, nbytes, stream):
        ctypes.memmove(destination, source, nbytes)
        return ()

    do_cuMemcpyDtoHAsync = do_cuMemcpyHtoDAsync

    def do_cuMemsetD32Async(self, destination, value, count, stream):
        if destination in self.memory:
            assert count * 4 <= len(self.memory[destination])
        return ()

    def do_cuStreamSynchronize(self, stream):
        return ()

    def do_cuPointerGetAttribute(self, name, pointer):
        if name == "CU_POINTER_ATTRIBUTE_DEVICE_POINTER":
            for start, nbytes in self.pinned.items():
                if start <= pointer < start + nbytes:
                    return pointer + self.apart
            return CUresult.CUDA_ERROR_INVALID_VALUE
        return self.ordinal(pointer)

    def do_cuTensorMapEncodeTiled(self, *arguments):
        text = repr(arguments[1:4]).encode().ljust(128, b".")
        made = ctypes.create_string_buffer(text, 128)
        return SimpleNamespace(getPtr=lambda: ctypes.addressof(made))

    # streams
    def do_cuStreamGetId(self, stream):
        return self.stream_ids.get(int(stream), int(stream) + 1000)

    def do_cuStreamIsCapturing(self, stream):
        return int(int(stream) in self.capturing)

    # graphs
    def do_cuStreamCreate(self, flags):
        return 55

    def do_cuStreamBeginCapture(self, stream, mode):
        self.capturing.add(int(stream))
        return ()

    def do_cuStreamEndCapture(self, stream):
        self.capturing.discard(int(stream))
        return 66

    def do_cuGraphInstantiate(self, graph, flags):
        return 77

    def do_cuGraphLaunch(self, executable, stream):
        return ()

    def do_cuGraphDestroy(self, graph):
        return ()

    def do_cuGraphExecDestroy(self, executable):
        return ()

    def do_cuStreamDestroy(self, stream):
        return ()

    # events
    def do_cuEventCreate(self, flags):
        return object()

    def do_cuEventRecord(self, event, stream):
        return ()

    def do_cuEventSynchronize(self, event):
        return ()

    def do_cuEventElapsedTime(self, begin, end):
        return 2.5

    # kernels
    def do_cuModuleLoadData(self, data):
        return "module"

    def do_cuModuleUnload(self, module):
        return ()

    def do_cuModuleGetFunction(self, module, name):
        return 4096

    def do_cuModuleGetGlobal(self, module, name):
        return (self.do_cuMemAlloc(16), 16)

    def do_cuFuncSetAttribute(self, function, name, value):
        return ()

    def do_cuFuncGetAttribute(self, name, function):
        return {"CU_FUNC_ATTRIBUTE_NUM_REGS": 42, "CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK": 1024}.get(
            name, 0
        )

    def do_cuOccupancyMaxActiveBlocksPerMultiprocessor(self, function, threads, shared):
        return self.resident

    def do_cuThreadExchangeStreamCaptureMode(self, mode):
        before, self.capture_mode = self.capture_mode, mode
        return before

    def do_cuGetProcAddress(self, name, version, flags):
        return (ctypes.cast(self.entries[name], ctypes.c_void_p).value, 0)

    def _context(self, out):
        ctypes.c_uint64.from_address(out).value = self.current
        return 0

    def _is_capturing(self, stream, out):
        ctypes.c_int32.from_address(out).value = self.do_cuStreamIsCapturing(stream or 0)
        return 0

    def _stream_id(self, stream, out):
        ctypes.c_uint64.from_address(out).value = self.do_cuStreamGetId(stream or 0)
        return 0

    def _launch_extended(self, config, function, parameters, extra):
        """The driver's structures, read word by word as its header has them."""
        *sizes, shared = (ctypes.c_uint32 * 7).from_address(config)
        stream, attributes = (ctypes.c_uint64 * 2).from_address(config + 32)
        (count,) = (ctypes.c_uint32 * 1).from_address(config + 48)
        status = self._launch(function, *sizes, shared, stream, parameters, extra)
        words = [(ctypes.c_int32 * 3).from_address(attributes + 72 * i) for i in range(count)]
        self.launches[-1].attributes = {number: value for number, _, value in words}
        return status

    def _launch(self, function, x, y, z, bx, by, bz, shared, stream, parameters, extra):
        status = self.launch_status.pop(0) if self.launch_status else 0
        pointers = (
            (ctypes.c_void_p * len(self.signature)).from_address(parameters or 1) if self.signature else ()
        )
        values = tuple(t.from_address(p).value for t, p in zip(self.signature, pointers, strict=True))
        self.launches.append(
            SimpleNamespace(
                function=function,
                grid=(x, y, z),
                block=(bx, by, bz),
                shared=shared,
                stream=stream,
                values=values,
                attributes={},
                context=self.current,
                status=status,
            )
        )
        return status

    def called(self, name: str) -> list[tuple[object, ...]]:
        return [entry[1:] for entry in self.log if entry[0] == name]


_CACHES = (
    driver.address_of,
    driver.driver_present,
    driver.driver,
    driver.initialised,
    devices.probe,
    devices.context,
    kernels.launch_function,
    launches._launch_extended,
    scratch._pool,
    empty_tensor_maps.of_device,
)


def forget() -> None:
    """Drop what the runtime remembers of a driver."""
    for cached in _CACHES:
        cached.cache_clear()
    streams._lookup = None
    faults.forget()
    records.forget_pages()
    counters.forget_counters()


def install(monkeypatch, count: int = 1) -> FakeDriver:
    """Make a fake driver the driver for one test."""
    forget()
    fake = FakeDriver(count)
    for module in (driver, devices, kernels, scratch, tensor_maps):
        for name, value in (("driver", lambda: fake), ("driver_present", lambda: True)):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
    monkeypatch.setattr("tri_backend_nvidia.driver.runtime.driver", lambda: fake)
    monkeypatch.setattr("tri_backend_nvidia.driver.memory.driver", lambda: fake)
    for module in ("counters", "graphs", "records"):
        monkeypatch.setattr(f"tri_backend_nvidia.driver.{module}.driver", lambda: fake)
    return fake
