"""Streams that launches name, launch attributes, captures and several devices, on the fake driver."""

from __future__ import annotations

import ctypes
import gc
import pickle
import sys
from types import SimpleNamespace

import pytest

from nvidia_fake_driver import CUresult, forget, install
from tri_backend_nvidia.architectures import target
from tri_backend_nvidia.driver import CudaRuntime, launches, streams
from tri_backend_nvidia.options import NvidiaOptions
from tri_backend_nvidia.pipeline import pipeline, simulated
from tri_core.api import (
    DeviceError,
    DeviceInfo,
    KernelImage,
    KernelMetadata,
    KernelSignature,
    LaunchError,
    OutOfResources,
    Parameter,
    TargetKey,
    Unsupported,
)
from tri_runtime import Device, Stream
from tri_runtime.native.layouts import CONFIG

PARAMETERS = (Parameter("x", "*fp32"), Parameter("n", "i32"))
ARGUMENTS = [1 << 40, 7]
DEVICE = DeviceInfo("cuda", 0, "sm_90a", "Fake GPU")


@pytest.fixture
def fake(monkeypatch):
    made = install(monkeypatch, count=2)
    made.signature = (ctypes.c_uint64, ctypes.c_int32)
    yield made
    gc.collect()
    forget()


def ready(runtime, device=0, **options):
    metadata = KernelMetadata(
        name="k", target=TargetKey("nvidia", "sm_90a"), signature=KernelSignature(name="k", parameters=PARAMETERS),
        options=options, threads_per_warp=32, shared=4096,
    )  # fmt: skip
    image = KernelImage(kind="cubin", data=b"\x7fELF", metadata=metadata)
    kernel = runtime.load(image, runtime.devices()[device])
    return runtime.launcher(kernel, image)


# --- streams --------------------------------------------------------------------------------------------


class Protocol:
    def __init__(self, reported):
        self.reported = reported

    def __cuda_stream__(self):
        return self.reported


STREAMS = {
    "a handle": 77,
    "the protocol": Protocol((0, 77)),
    "the protocol as an attribute": SimpleNamespace(__cuda_stream__=(0, 77)),
    "PyTorch": SimpleNamespace(cuda_stream=77, device_index=0),
    "CuPy": SimpleNamespace(ptr=77, device_id=0),
    "CuPy's default": SimpleNamespace(ptr=77, device_id=-1),
    "PyCUDA": SimpleNamespace(handle=77),
    "Numba": SimpleNamespace(handle=ctypes.c_void_p(77)),
    "tri": Stream(DEVICE, 77),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams_of_libraries(name):
    assert CudaRuntime().stream_handle(STREAMS[name], DEVICE) == 77


def test_streams_of_the_drivers_bindings():
    driver = pytest.importorskip("cuda.bindings.driver")
    assert streams.handle_of(driver.CUstream(77), DEVICE) == 77
    assert streams.handle_of(pytest.importorskip("cuda.bindings.runtime").cudaStream_t(78), DEVICE) == 78


def test_default_streams():
    assert streams.handle_of(0, DEVICE) == 0
    assert streams.handle_of(SimpleNamespace(handle=ctypes.c_void_p(None)), None) == 0


@pytest.mark.parametrize(
    "wrong", ["fast", 1.5, True, -1, 1 << 64, object(), SimpleNamespace(cuda_stream="s")]
)
def test_what_is_no_stream(wrong):
    with pytest.raises(LaunchError, match="which is no stream") as caught:
        streams.handle_of(wrong, DEVICE)
    assert "__cuda_stream__" in caught.value.remedy


def test_another_version_of_the_protocol():
    with pytest.raises(LaunchError, match="version 1 of the stream protocol"):
        streams.handle_of(Protocol((1, 77)), DEVICE)


@pytest.mark.parametrize(
    "stream",
    [
        SimpleNamespace(cuda_stream=77, device_index=1),
        SimpleNamespace(ptr=77, device_id=1),
        Stream(DeviceInfo("cuda", 1, "sm_90a", "Fake GPU"), 77),
    ],
)
def test_a_stream_of_another_device(stream):
    with pytest.raises(LaunchError, match="stream= is of cuda:1, the arguments are on cuda:0"):
        streams.handle_of(stream, DEVICE)
    assert streams.handle_of(stream, None) == 77


def test_a_stream_made_current(fake, monkeypatch):
    runtime = CudaRuntime()
    with runtime.on_stream(66, DEVICE):
        assert runtime.current_stream(DEVICE) == 66
        assert runtime.elapsed(lambda: None) == 2.5e-3
    assert [stream for _, stream in fake.called("cuEventRecord")] == [66, 66]
    assert runtime.current_stream(DEVICE) == 0
    seconds = runtime.timer(77, lambda: None)
    assert [stream for _, stream in fake.called("cuEventRecord")][2:] == [77, 77]
    assert seconds() == 2.5e-3

    seen = []
    cuda = SimpleNamespace(
        is_initialized=lambda: True,
        ExternalStream=lambda handle, index: ("external", handle, index),
        default_stream=lambda index: ("default", index),
        stream=lambda made: seen.append(made) or pytest.MonkeyPatch().context(),
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    for handle in (66, 0):
        with runtime.on_stream(handle, DEVICE):
            pass
    assert seen == [("external", 66, 0), ("default", 0)]


# --- attributes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "attributes"),
    [
        ({}, {}),
        ({"launch_pdl": False}, {}),
        ({"launch_pdl": True}, {6: 1}),
        ({"launch_cooperative_grid": True}, {2: 1}),
        ({"launch_pdl": True, "launch_cooperative_grid": True}, {2: 1, 6: 1}),
    ],
)
def test_launch_attributes(fake, options, attributes):
    ready(CudaRuntime(), **options)((3, 2, 1), 55, ARGUMENTS)
    (seen,) = fake.launches
    assert seen.attributes == attributes
    assert (seen.function, seen.grid, seen.block, seen.shared, seen.stream) == (
        4096, (3, 2, 1), (128, 1, 1), 4096, 55,
    )  # fmt: skip
    assert seen.values == tuple(ARGUMENTS)


def test_structures_are_the_drivers():
    driver = pytest.importorskip("cuda.bindings.driver")
    theirs, mine = driver.CUlaunchAttribute(), launches._Attribute(id=6, value=1)
    theirs.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    theirs.value.programmaticStreamSerializationAllowed = 1
    size = ctypes.sizeof(mine)
    assert bytes(mine) == ctypes.string_at(theirs.getPtr(), size)
    assert (
        launches._NUMBERS[launches.COOPERATIVE] == driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
    )
    config = driver.CUlaunchConfig()
    sizes = ("gridDimX", "gridDimY", "gridDimZ", "blockDimX", "blockDimY", "blockDimZ", "sharedMemBytes")
    for number, name in enumerate(sizes, 1):
        setattr(config, name, number)
    config.hStream, config.numAttrs = driver.CUstream(88), 0
    expected = CONFIG.structure(1, 2, 3, 4, 5, 6, 7, 88, None, 0)
    assert bytes(expected) == ctypes.string_at(config.getPtr(), ctypes.sizeof(expected))


def test_a_cooperative_grid_must_be_resident(fake):
    launch = ready(CudaRuntime(), launch_cooperative_grid=True)
    launch((12, 1, 1), None, ARGUMENTS)
    with pytest.raises(OutOfResources, match=r"\(13, 1, 1\) of k is of 13 CTAs; Fake GPU holds 12") as caught:
        launch((13, 1, 1), None, ARGUMENTS)
    found = pickle.loads(pickle.dumps(caught.value))
    assert (found.resource, found.need, found.have) == ("resident_ctas", 13, 12)
    assert "at most 12 programs" in found.remedy
    assert len(fake.launches) == 1
    assert fake.called("cuOccupancyMaxActiveBlocksPerMultiprocessor") == [(4096, 128, 4096)]


def test_other_grids_may_be_of_any_size(fake):
    ready(CudaRuntime(), launch_pdl=True)((1000, 1, 1), None, ARGUMENTS)
    assert not fake.called("cuOccupancyMaxActiveBlocksPerMultiprocessor")
    assert len(fake.launches) == 1


def test_dependent_launches_need_a_gpu_that_has_them():
    options = NvidiaOptions(launch_pdl=True)
    old, new = (target(TargetKey("nvidia", arch), None) for arch in ("sm_89", "sm_90"))
    for make in (pipeline, simulated):
        with pytest.raises(Unsupported, match=r"launch_pdl=True on nvidia:sm_89") as caught:
            make(old, options)
        assert "in order" in caught.value.remedy
    assert pipeline(new, options)


# --- captures -------------------------------------------------------------------------------------------


def test_a_kernel_is_loaded_in_the_midst_of_a_capture(fake):
    runtime = CudaRuntime()
    modes = []
    load = type(fake).do_cuModuleLoadData
    type(fake).do_cuModuleLoadData = lambda self, data: modes.append(self.capture_mode) or load(self, data)
    try:
        replay = runtime.capture(lambda: ready(runtime)((1, 1, 1), None, ARGUMENTS))
    finally:
        type(fake).do_cuModuleLoadData = load
    assert modes == ["CU_STREAM_CAPTURE_MODE_RELAXED"]
    assert fake.capture_mode == "GLOBAL"
    assert [seen.stream for seen in fake.launches] == [55]
    replay()


def test_what_cannot_be_captured_says_what_to_do(fake):
    fake.fail["cuModuleLoadData"] = CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
    with pytest.raises(DeviceError, match="CAPTURE_INVALIDATED") as caught:
        ready(CudaRuntime())
    assert "once before the capture" in caught.value.remedy
    assert fake.capture_mode == "GLOBAL"


# --- several devices ------------------------------------------------------------------------------------


def test_loading_leaves_the_threads_device_alone(fake):
    runtime = CudaRuntime()
    runtime.set_device(0)
    launch = ready(runtime, device=1)
    assert fake.current == 100
    launch((1, 1, 1), None, ARGUMENTS)
    assert fake.launches[0].context == 101
    assert fake.current == 100


def test_the_current_device_is_that_of_the_context_whoever_chose_it(fake):
    runtime = CudaRuntime()
    with Device(runtime, runtime.devices()[1]).current():
        assert runtime.current_device().index == 1
    assert runtime.current_device().index == 0
    fake.current = 101  # another library's choice, afterwards
    assert runtime.current_device().index == 1


def test_memory_of_another_device_leaves_the_current_one_alone(fake):
    runtime = CudaRuntime()
    runtime.set_device(0)
    contexts = []
    allocate = type(fake).do_cuMemAlloc
    type(fake).do_cuMemAlloc = lambda self, nbytes: contexts.append(self.current) or allocate(self, nbytes)
    try:
        runtime.memory(runtime.devices()[1]).alloc(16)
    finally:
        type(fake).do_cuMemAlloc = allocate
    assert contexts == [101]
    assert fake.current == 100


def test_a_kernel_is_unloaded_from_its_device(fake):
    runtime = CudaRuntime()
    runtime.set_device(0)
    launch = ready(runtime, device=1)
    contexts = []
    unload = type(fake).do_cuModuleUnload
    type(fake).do_cuModuleUnload = lambda self, module: contexts.append(self.current) or unload(self, module)
    try:
        del launch
        gc.collect()
    finally:
        type(fake).do_cuModuleUnload = unload
    assert contexts == [101]
    assert fake.current == 100
