"""The stand-in's functions as C has them, straight at the library: hip-python opens one library a process."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import standin_kernels
from tri_backend_amd.runtime import installed
from tri_backend_amd.runtime.standin import Configuration, DeviceConfiguration, HipError, StandIn
from tri_backend_amd.runtime.standin.functions import FUNCTIONS
from tri_core.api import OptionError, TargetError


class Caller:
    """Calls HIP's functions with the types that its header gives them."""

    def __init__(self, standin: StandIn) -> None:
        self.library = standin.library.loaded

    def code(self, name: str, *arguments: Any) -> HipError:
        function = getattr(self.library, name)
        function.argtypes = FUNCTIONS[name]
        return HipError(function(*arguments))

    def __call__(self, name: str, *arguments: Any) -> None:
        assert self.code(name, *arguments) is HipError.SUCCESS, name

    def handle(self, name: str, *arguments: Any) -> int:
        made = ctypes.c_void_p()
        self(name, ctypes.addressof(made), *arguments)
        return made.value or 0

    def number(self, name: str, *arguments: Any, first: bool = True) -> int:
        made = ctypes.c_int()
        at = ctypes.addressof(made)
        self(name, *((at, *arguments) if first else (*arguments, at)))
        return made.value


@pytest.fixture
def standin() -> Iterator[StandIn]:
    made = StandIn(Configuration(devices=(DeviceConfiguration(memory=1 << 20),) * 8))
    yield made
    made.close()


@pytest.fixture
def hip(standin: StandIn) -> Caller:
    return Caller(standin)


def test_devices_are_as_many_as_configured(hip: Caller) -> None:
    assert hip.number("hipGetDeviceCount") == 8
    hip("hipSetDevice", 7)
    assert hip.number("hipGetDevice") == 7
    assert hip.code("hipSetDevice", 8) is HipError.INVALID_DEVICE
    assert Caller(StandIn()).number("hipGetDeviceCount") == 1
    assert Caller(StandIn(Configuration(devices=()))).code("hipSetDevice", 0) is HipError.NO_DEVICE


def test_a_process_that_makes_one_has_not_loaded_hip(standin: StandIn) -> None:
    assert standin.path not in installed.loaded()
    assert (standin.library.root / "lib/libamdhip64.so").exists()


def test_copies_are_seen_by_who_waits(hip: Caller, standin: StandIn) -> None:
    host, back = np.arange(100, dtype=np.uint8), np.zeros(100, np.uint8)
    at, stream = hip.handle("hipMalloc", 100), hip.handle("hipStreamCreate")
    hip("hipMemcpyAsync", at, host.ctypes.data, 100, 4, stream)
    sent = host.copy()
    host[:] = 0  # of the host: the call has it already
    hip("hipMemcpyAsync", back.ctypes.data, at, 100, 4, stream)
    assert hip.code("hipStreamQuery", stream) is HipError.NOT_READY
    assert not back.any()
    hip("hipStreamSynchronize", stream)
    np.testing.assert_array_equal(back, sent)
    hip("hipFree", at)
    hip("hipStreamDestroy", stream)
    assert standin.left() == []


def test_memory_is_of_a_size(hip: Caller) -> None:
    out = ctypes.c_void_p()
    assert hip.code("hipMalloc", ctypes.addressof(out), (1 << 20) + 1) is HipError.OUT_OF_MEMORY
    at = hip.handle("hipMalloc", 10)
    assert hip.code("hipMemset", at, 0, 11) is HipError.INVALID_VALUE
    assert hip.code("hipFree", at + 1) is HipError.INVALID_VALUE


def test_events_enclose_work(hip: Caller) -> None:
    begin, end = (hip.handle("hipEventCreate") for _ in range(2))
    at, elapsed = hip.handle("hipMalloc", 16), ctypes.c_float(-1)
    hip("hipEventRecord", begin, None)
    hip("hipMemsetAsync", at, 1, 16, None)
    hip("hipEventRecord", end, None)
    assert hip.code("hipEventQuery", end) is HipError.NOT_READY
    hip("hipEventSynchronize", end)
    hip("hipEventElapsedTime", ctypes.addressof(elapsed), begin, end)
    assert elapsed.value >= 0


def test_a_stream_waits_for_another_device(hip: Caller) -> None:
    back = np.zeros(16, np.uint8)
    first, event = hip.handle("hipMalloc", 16), hip.handle("hipEventCreate")
    hip("hipMemsetAsync", first, 7, 16, None)
    hip("hipEventRecord", event, None)
    hip("hipSetDevice", 1)
    stream = hip.handle("hipStreamCreate")
    hip("hipStreamWaitEvent", stream, event, 0)
    hip("hipMemcpyAsync", back.ctypes.data, first, 16, 4, stream)
    hip("hipStreamSynchronize", stream)
    assert (back == 7).all()
    assert hip.code("hipEventRecord", event, stream) is HipError.INVALID_HANDLE


def test_a_graph_runs_what_was_captured(hip: Caller) -> None:
    at, stream, back = hip.handle("hipMalloc", 4), hip.handle("hipStreamCreate"), np.zeros(4, np.uint8)
    hip("hipMemset", at, 1, 4)
    hip("hipStreamBeginCapture", stream, 0)
    assert hip.number("hipStreamIsCapturing", stream, first=False) == 1
    hip("hipMemsetAsync", at, 2, 4, stream)
    assert hip.code("hipStreamSynchronize", stream) is HipError.STREAM_CAPTURE_UNSUPPORTED
    graph = ctypes.c_void_p()
    hip("hipStreamEndCapture", stream, ctypes.addressof(graph))
    hip("hipMemcpy", back.ctypes.data, at, 4, 4)
    assert (back == 1).all()
    executable = hip.handle("hipGraphInstantiate", graph, None, None, 0)
    for _ in range(2):
        hip("hipMemset", at, 1, 4)
        hip("hipGraphLaunch", executable, stream)
        hip("hipStreamSynchronize", stream)
        hip("hipMemcpy", back.ctypes.data, at, 4, 4)
        assert (back == 2).all()
    assert (
        hip.code("hipStreamEndCapture", stream, ctypes.addressof(graph)) is HipError.STREAM_CAPTURE_UNMATCHED
    )


def test_modules_that_hip_would_refuse(hip: Caller) -> None:
    out = ctypes.c_void_p()
    cases = {
        HipError.NO_BINARY_FOR_GPU: (standin_kernels.image("amd:gfx950").data, standin_kernels.image("amd:gfx942:xnack+").data),
        HipError.INVALID_IMAGE: (b"no code object", standin_kernels.image(carry=False).data, b"\x7fELF" + bytes(60)),
    }  # fmt: skip
    for code, images in cases.items():
        for data in images:
            kept = ctypes.create_string_buffer(data, len(data) + 1)
            assert hip.code("hipModuleLoadData", ctypes.addressof(out), ctypes.addressof(kept)) is code
    good, name = (ctypes.create_string_buffer(data) for data in (standin_kernels.image().data, b"other"))
    module = hip.handle("hipModuleLoadData", ctypes.addressof(good))
    assert (
        hip.code("hipModuleGetFunction", ctypes.addressof(out), module, ctypes.addressof(name))
        is HipError.NOT_FOUND
    )


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_fails_on_demand(name: str, standin: StandIn, hip: Caller) -> None:
    nothing = [kind() for kind in FUNCTIONS[name]]
    standin.answer(name, HipError.LAUNCH_FAILURE)
    assert hip.code(name, *nothing) is HipError.LAUNCH_FAILURE
    standin.answer(name, None)
    standin.close()
    assert hip.code(name, *nothing) is HipError.NOT_SUPPORTED


def test_a_lost_device_stays_lost_and_others_live(standin: StandIn, hip: Caller) -> None:
    standin.lose_device(0)
    assert hip.code("hipDeviceSynchronize") is HipError.ILLEGAL_ADDRESS
    assert hip.code("hipGetLastError") is HipError.ILLEGAL_ADDRESS
    hip("hipSetDevice", 1)
    hip("hipDeviceSynchronize")


def test_a_device_that_is_none() -> None:
    with pytest.raises(OptionError, match="no GPU is called 'gfx9'"):
        DeviceConfiguration(arch="gfx9")
    with pytest.raises(TargetError, match="gfx1100 has no feature 'xnack'"):
        DeviceConfiguration(arch="gfx1100:xnack-")
