from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from images import image, ready
from nvidia_fake_driver import CUresult, forget, install
from tri_backend_nvidia.driver import CudaRuntime, devices, driver
from tri_core.api import (
    ArrayArgument,
    DeviceError,
    DeviceInfo,
    LaunchDescriptor,
    LaunchError,
    LaunchNumber,
    OutOfResources,
)
from tri_core.notices import PluginWarning
from tri_runtime import Buffer
from tri_runtime.benchmark import do_bench


@pytest.fixture
def fake(monkeypatch):
    made = install(monkeypatch)
    made.signature = (ctypes.c_uint64, ctypes.c_int32, ctypes.c_float)
    yield made
    gc.collect()
    forget()


PTX = b".visible .entry k(.param .u64 a, .param .u64 b, .param .u32 c, .param .f32 d) { ret; }"


def test_an_image_with_other_parameters_is_refused_before_the_driver_has_it(fake):
    made = replace(image(), data=PTX)
    runtime = CudaRuntime()
    with pytest.raises(LaunchError, match="takes 4 parameters of 8, 8, 4, 4 bytes") as caught:
        runtime.load(made, runtime.current_device())
    assert "a launch passes 3 parameters of 8, 4, 4 bytes (x: *fp32, n: i32, s: fp32)" in str(caught.value)
    fits = replace(made, data=PTX.replace(b".param .u64 b, ", b""))
    assert runtime.load(fits, runtime.current_device()) is not None


def test_a_launch_passes_everything(fake):
    _, launch = ready(CudaRuntime(), num_warps=8, shared=4096)
    launch((3, 2, 1), 77, [1 << 40, -5, 0.5])
    (seen,) = fake.launches
    assert (seen.grid, seen.block) == ((3, 2, 1), (256, 1, 1))
    assert (seen.function, seen.shared, seen.stream) == (4096, 4096, 77)
    assert seen.values == (1 << 40, -5, 0.5)


DESCRIPTOR = LaunchDescriptor(
    base=0, shape=(LaunchNumber(1), LaunchNumber(value=64)), strides=(LaunchNumber(value=72),), element="f16",
    box=(8, 64), swizzle=128, nan=True,
)  # fmt: skip


def test_descriptors_are_encoded_once_and_passed_by_value(fake):
    fake.signature = (*fake.signature, ctypes.c_char * 128)
    _, launch = ready(CudaRuntime(), attrs={"descriptors": [DESCRIPTOR.to_json()]})
    for address, rows in ((1 << 40, 5), (1 << 41, 6), (1 << 40, 5)):
        launch((1, 1, 1), None, [address, rows, 0.5])
        assert fake.launches[-1].values[3] == repr((2, address, [64, rows])).encode().ljust(128, b".")
        assert fake.launches[-1].values[:3] == (address, rows, 0.5)
    first, _ = fake.called("cuTensorMapEncodeTiled")
    assert first == (
        "CU_TENSOR_MAP_DATA_TYPE_FLOAT16", 2, 1 << 40, [64, 5], [144], [64, 8], [1, 1],
        "CU_TENSOR_MAP_INTERLEAVE_NONE", "CU_TENSOR_MAP_SWIZZLE_128B", "CU_TENSOR_MAP_L2_PROMOTION_L2_128B",
        "CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA",
    )  # fmt: skip


def test_one_dimension_has_a_stride_that_nobody_reads(fake):
    flat = LaunchDescriptor(
        base=0, shape=(LaunchNumber(1),), strides=(), element="f32", box=(128,), swizzle=0, nan=False
    )
    _, launch = ready(CudaRuntime(), attrs={"descriptors": [flat.to_json()]})
    launch((1, 1, 1), None, [1 << 40, 5, 0.5])
    (made,) = fake.called("cuTensorMapEncodeTiled")
    assert made[1:7] == (1, 1 << 40, [5], [16], [128], [1])


@pytest.mark.parametrize(("use", "place"), [("read", 0), ("written", 128)])
def test_empty_tensors_of_pointers_are_an_element_of_other_memory(fake, use, place):
    may_be_empty = replace(DESCRIPTOR, nan=False, empty=use)
    fake.signature = (*fake.signature, ctypes.c_char * 128)
    runtime = CudaRuntime()
    _, launch = ready(runtime, attrs={"descriptors": [may_be_empty.to_json()]})
    (memory,) = fake.memory
    assert [call[:2] for call in fake.called("cuMemsetD32Async")] == [(memory, 0)]
    launch((0, 1, 1), None, [16, 0, 0.5])
    assert not fake.called("cuTensorMapEncodeTiled")
    launch((1, 1, 1), None, [8, 0, 0.5])
    launch((1, 1, 1), None, [16, 3, 0.5])
    empty, full = (made[1:7] for made in fake.called("cuTensorMapEncodeTiled"))
    assert empty == (2, memory + place, [1, 1], [16], [64, 8], [1, 1])
    assert full == (2, 16, [64, 3], [144], [64, 8], [1, 1])
    # another kernel of the device has the same memory, and launches allocate nothing
    ready(runtime, attrs={"descriptors": [may_be_empty.to_json()]})
    assert len(fake.called("cuMemAlloc")) == 1
    with pytest.raises(LaunchError, match="it is empty"):
        launch((1, 1, 1), None, [16, -1, 0.5])


def test_tensors_that_the_driver_refuses(fake):
    _, launch = ready(CudaRuntime(), attrs={"descriptors": [DESCRIPTOR.to_json()]})
    with pytest.raises(LaunchError, match="multiple of 16 bytes"):
        launch((1, 1, 1), None, [8, 5, 0.5])
    with pytest.raises(LaunchError, match="it is empty"):
        launch((1, 1, 1), None, [16, 0, 0.5])
    launch((0, 1, 1), None, [16, 0, 0.5])
    fake.fail["cuTensorMapEncodeTiled"] = CUresult.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(LaunchError, match="makes no tensor map at 0x10 of shape"):
        launch((1, 1, 1), None, [16, 1, 0.5])
    assert not fake.launches


@pytest.mark.parametrize(("grid", "ctas"), [((3, 2, 1), 6), ((5, 3, 2), 8), ((1, 1, 8), 8)])
@pytest.mark.parametrize("cooperative", [False, True])
def test_persistent_kernels_get_their_grid(fake, grid, ctas, cooperative):
    """Four multiprocessors have room for two CTAs each, so that those of any grid are resident."""
    fake.resident = 2
    fake.signature = (*fake.signature, *[ctypes.c_int32] * 3, ctypes.c_char * 128)
    attrs = {"grid": True, "descriptors": [DESCRIPTOR.to_json()]}
    _, launch = ready(CudaRuntime(), num_warps=4, total_num_warps=8, shared=100_000, attrs=attrs,
                      options={"launch_cooperative_grid": cooperative})  # fmt: skip
    assert fake.called("cuOccupancyMaxActiveBlocksPerMultiprocessor") == [(4096, 256, 100_000)]
    launch(grid, None, [1 << 40, 5, 0.5])
    (seen,) = fake.launches
    assert seen.grid == (ctas, 1, 1)
    assert seen.values[:6] == (1 << 40, 5, 0.5, *grid)
    assert seen.values[6].startswith(b"(2, 1099511627776, [64, 5]")
    launch((0, 1, 1), None, [1 << 40, 5, 0.5])
    with pytest.raises(LaunchError, match="programs; a persistent kernel counts up to"):
        launch((1 << 20, 1 << 11, 1), None, [1 << 40, 5, 0.5])
    assert len(fake.launches) == 1


def test_launches_at_the_same_time_have_counters_of_their_own(fake):
    fake.resident = 2
    fake.signature = (*fake.signature, *[ctypes.c_int32] * 3, ctypes.c_uint64)
    runtime = CudaRuntime()
    _, launch = ready(runtime, attrs={"grid": True, "counter": True})

    def counter(stream):
        launch((3, 2, 1), stream, [1 << 40, 5, 0.5])
        seen = fake.launches[-1]
        assert seen.values[:6] == (1 << 40, 5, 0.5, 3, 2, 1)
        assert any(at <= seen.values[6] <= at + len(block) - 4 for at, block in fake.memory.items())
        return seen.values[6]

    first = counter(71)
    assert counter(71) == first
    assert counter(72) not in (first, 0)
    # a handle that is given out again is another stream
    fake.stream_ids[71] = 5
    again = counter(71)
    assert again not in (first, counter(72))
    # one counter for each launch of a graph, which none outside has
    recorded = []
    runtime.capture(lambda: recorded.extend([counter(55), counter(55)]))
    assert len({first, again, counter(72), counter(55), *recorded}) == 6
    # nothing is allocated by a launch
    assert len(fake.called("cuMemAlloc")) == 1


def test_more_counters_are_made_when_they_are_used_up(fake):
    fake.signature = (*fake.signature, *[ctypes.c_int32] * 3, ctypes.c_uint64)
    _, launch = ready(CudaRuntime(), attrs={"grid": True, "counter": True})
    fake.capturing.add(71)
    for _ in range(4100):
        launch((1, 1, 1), 71, [1 << 40, 5, 0.5])
    assert len({seen.values[6] for seen in fake.launches}) == 4100
    assert len(fake.called("cuMemAlloc")) == 2
    assert fake.capture_mode == "GLOBAL"


def test_launches_are_recorded_on_a_stream_of_their_own(fake):
    runtime = CudaRuntime()
    _, launch = ready(runtime)
    replay = runtime.capture(lambda: launch((2, 1, 1), None, [1 << 40, 1, 0.0]))
    launch((2, 1, 1), None, [1 << 40, 1, 0.0])
    assert [seen.stream for seen in fake.launches] == [55, None]  # a null pointer is the default stream
    replay()
    assert fake.called("cuGraphLaunch") == [(77, 0)]
    del replay
    gc.collect()
    names = [
        entry[0]
        for entry in fake.log
        if "Graph" in entry[0] or entry[0].endswith("Capture") or "StreamD" in entry[0]
    ]
    assert names == [
        "cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate", "cuGraphDestroy", "cuStreamDestroy",
        "cuGraphLaunch", "cuGraphExecDestroy",
    ]  # fmt: skip


def test_a_recording_that_fails_leaves_nothing_behind(fake):
    runtime = CudaRuntime()
    with pytest.raises(ZeroDivisionError):
        runtime.capture(lambda: 1 / 0)
    assert fake.called("cuStreamEndCapture")
    assert fake.called("cuStreamDestroy")
    assert runtime.current_stream(runtime.current_device()) == 0


def test_an_empty_grid_launches_nothing(fake):
    _, launch = ready(CudaRuntime())
    launch((0, 1, 1), None, [0, 0, 0.0])
    assert fake.launches == []


def test_large_shared_memory_is_asked_for(fake):
    ready(CudaRuntime(), shared=49152)
    assert not fake.called("cuFuncSetAttribute")
    ready(CudaRuntime(), shared=100_000)
    assert fake.called("cuFuncSetAttribute")[0][2] == 100_000


def test_resources_are_the_drivers(fake):
    kernel, _ = ready(CudaRuntime())
    assert kernel.resources == {"registers": 42, "spills": 0, "threads": 1024}


def test_too_much_is_refused_before_the_driver_is_asked(fake):
    with pytest.raises(OutOfResources, match="250000 of 'shared'") as caught:
        ready(CudaRuntime(), shared=250_000)
    assert caught.value.have == 227 << 10
    assert not fake.called("cuModuleLoadData")


@pytest.mark.parametrize("arch", ["sm_80", "sm_100a", "sm_90"])
def test_code_for_another_gpu_is_refused(fake, arch):
    if arch == "sm_90":
        ready(CudaRuntime(), arch=arch)
        return
    with pytest.raises(DeviceError, match="cannot run on Fake GPU") as caught:
        ready(CudaRuntime(), arch=arch)
    assert caught.value.remedy == "compile for nvidia:sm_90a"


def test_kernels_are_unloaded_with_their_last_user(fake):
    kernel, launch = ready(CudaRuntime())
    del kernel
    gc.collect()
    assert not fake.called("cuModuleUnload")
    del launch
    gc.collect()
    assert len(fake.called("cuModuleUnload")) == 1


def test_a_thread_without_context_gets_one(fake):
    _, launch = ready(CudaRuntime())
    fake.current, fake.launch_status = 0, [CUresult.CUDA_ERROR_INVALID_CONTEXT]
    launch((1, 1, 1), None, [0, 1, 1.0])
    assert [s.context for s in fake.launches] == [0, 100]
    assert fake.current == 0


def test_a_failed_launch_says_what_happened(fake):
    _, launch = ready(CudaRuntime())
    fake.launch_status = [CUresult.CUDA_ERROR_ILLEGAL_ADDRESS]
    with pytest.raises(
        DeviceError, match=r"launching k with grid .*ILLEGAL_ADDRESS: words of the driver"
    ) as caught:
        launch((1, 1, 1), None, [0, 1, 1.0])
    assert "masks" in caught.value.remedy
    fake.launch_status = [CUresult.CUDA_ERROR_INVALID_VALUE]
    with pytest.raises(LaunchError, match="y extent"):
        launch((1, 70_000, 1), None, [0, 1, 1.0])


def test_a_misfitting_argument_is_named(fake):
    _, launch = ready(CudaRuntime())
    with pytest.raises(LaunchError, match="argument n"):
        launch((1, 1, 1), None, [0, 1 << 40, 1.0])
    assert fake.launches == []


def test_launches_from_many_threads_keep_their_arguments(fake):
    _, launch = ready(CudaRuntime())

    def work(base):
        for i in range(50):
            launch((base + 1, 1, 1), base, [base * 1000 + i, i, float(base)])

    threads = [threading.Thread(target=work, args=(b,)) for b in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(fake.launches) == 200
    for seen in fake.launches:
        base = seen.grid[0] - 1
        assert seen.values == (base * 1000 + seen.values[1], seen.values[1], float(base))


def test_the_framework_names_the_stream(fake, monkeypatch):
    initialised = False
    cuda = SimpleNamespace(
        is_initialized=lambda: initialised,
        current_stream=lambda index: SimpleNamespace(cuda_stream=900 + index),
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    runtime = CudaRuntime()
    _, launch = ready(runtime)
    launch((1, 1, 1), None, [0, 1, 1.0])
    initialised = True
    launch((1, 1, 1), None, [0, 1, 1.0])
    assert [s.stream or 0 for s in fake.launches] == [0, 900]
    assert runtime.current_stream(runtime.current_device()) == 900


def test_host_arrays_are_refused(fake):
    x = np.zeros(4, np.float32)
    runtime = CudaRuntime()
    assert runtime.host_memory == "refused"
    with pytest.raises(LaunchError, match="host array") as caught:
        runtime.staged([ArrayArgument(x.ctypes.data, "fp32", x.nbytes)])
    assert "tensor.cuda()" in caught.value.remedy


def test_buffers_copy_there_and_back(fake):
    runtime = CudaRuntime()
    device = runtime.current_device()
    x, y = np.random.default_rng(1).random(8), np.zeros(8)
    with Buffer(runtime.memory(device), x.nbytes, device) as buffer:
        buffer.copy_from(x.ctypes.data)
        buffer.copy_to(y.ctypes.data)
    np.testing.assert_array_equal(x, y)
    assert not fake.memory


def test_memory_that_is_not_there(fake):
    runtime = CudaRuntime()
    fake.fail["cuMemAlloc"] = CUresult.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(OutOfResources) as caught:
        runtime.memory(runtime.current_device()).alloc(5000)
    assert (caught.value.need, caught.value.have) == (5000, 1000)


def test_time_is_the_events(fake):
    runtime = CudaRuntime()
    assert runtime.elapsed(lambda: None) == 2.5e-3
    assert do_bench(lambda: None, runtime, warmup=3, rep=10) == 2.5
    assert len(fake.called("cuEventCreate")) == 2
    assert fake.called("cuMemsetD32Async")
    assert not fake.called("cuCtxSynchronize")[2:]


def test_asynchronous_failures_come_out_of_synchronize(fake):
    runtime = CudaRuntime()
    fake.fail["cuCtxSynchronize"] = CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(DeviceError, match="ILLEGAL_ADDRESS"):
        runtime.synchronize()


def test_several_devices(monkeypatch):
    fake = install(monkeypatch, count=2)
    fake.signature = (ctypes.c_uint64, ctypes.c_int32, ctypes.c_float)
    runtime = CudaRuntime()
    assert [d.index for d in runtime.devices()] == [0, 1]
    fake.current = 101  # what another library left
    assert runtime.current_device().index == 1
    runtime.set_device(0)
    assert (runtime.current_device().index, fake.current) == (0, 100)
    _, launch = ready(runtime)
    fake.current = 101
    launch((1, 1, 1), None, [0, 1, 1.0])
    assert fake.launches[0].context == 100
    assert fake.current == 101
    assert devices.device_of_pointer(1 << 30).index == 1
    forget()


def test_probing_creates_no_context(fake):
    assert devices.probe() == (DeviceInfo("cuda", 0, "sm_90a", "Fake GPU"),)
    assert not fake.called("cuDevicePrimaryCtxRetain")


def test_a_driver_that_does_not_start_has_no_devices(fake):
    fake.fail["cuInit"] = CUresult.CUDA_ERROR_NOT_INITIALIZED
    assert devices.probe() == ()
    with pytest.raises(DeviceError, match="no cuda device is present") as caught:
        CudaRuntime().current_device()
    assert "driver" in caught.value.remedy


def test_a_forked_child_is_told(fake, monkeypatch):
    runtime = CudaRuntime()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(DeviceError, match="fork") as caught:
        runtime.synchronize()
    assert "spawn" in caught.value.remedy


def test_no_driver_at_all(monkeypatch):
    forget()
    monkeypatch.setattr(driver, "_LIBRARY", "libno-such-driver.so")
    assert devices.probe() == ()
    with pytest.raises(DeviceError, match="libno-such-driver") as caught:
        driver.initialised()
    assert "driver" in caught.value.remedy
    forget()


def test_a_driver_without_bindings_is_told(monkeypatch):
    """Something else called ``cuda`` hides them, say."""
    forget()
    for module in (devices, driver):
        monkeypatch.setattr(module, "driver_present", lambda: True)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    with pytest.warns(PluginWarning, match="driver is there, but cuda-python cannot be imported"):
        assert devices.probe() == ()
    forget()


def test_bindings_too_old_for_a_function(fake):
    with pytest.raises(DeviceError, match="no cuNoSuchFunction") as caught:
        driver.call("cuNoSuchFunction")
    assert "cuda-python" in caught.value.remedy
