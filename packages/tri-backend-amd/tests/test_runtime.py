"""The HIP runtime against a fake of the bindings: no AMD GPU is here."""

from __future__ import annotations

import gc
import struct
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from amd_support import compile_body, compile_text, llvm_of
from fake_hip import FakeHip, hipError_t
from tri_backend_amd.lowering import AmdPrimitives
from tri_backend_amd.runtime import HipRuntime, devices
from tri_backend_amd.runtime import hip as door
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
)
from tri_core.mlir import ir
from tri_core.notices import PluginWarning
from tri_gpu_dialect.lowering import Access, Builder
from tri_runtime import Buffer

SIGNATURE = KernelSignature(
    name="k",
    parameters=(
        Parameter("x", "*fp32"),
        Parameter("flag", "i1"),
        Parameter("n", "i64"),
        Parameter("half", "fp16"),
        Parameter("b", "bf16"),
    ),
)


TYPES = ("!llvm.ptr<1>", "i1", "i64", "f16", "bf16")


def body(b: Builder, hw: AmdPrimitives, args: Sequence[ir.Value]) -> None:
    hw.store_global(b, args[0], args[2], None, Access(4))


def image(arch: str = "gfx942", shared: int = 0) -> KernelImage:
    metadata = KernelMetadata(
        name="k",
        target=TargetKey("amd", arch),
        signature=SIGNATURE,
        options={},
        threads_per_warp=64,
        shared=shared,
    )
    made = compile_text(arch, llvm_of(arch, body, parameters=TYPES))
    return KernelImage(kind="hsaco", data=made.data, metadata=metadata)


@pytest.fixture
def api() -> FakeHip:
    return FakeHip()


@pytest.fixture
def runtime(api: FakeHip) -> HipRuntime:
    return HipRuntime(api)


def test_devices_are_described_without_their_modes(runtime: HipRuntime) -> None:
    assert runtime.devices() == (DeviceInfo("hip", 0, "gfx942", "Fake 0"),)
    assert runtime.current_device().arch == "gfx942"


def test_a_launch_packs_the_arguments_as_the_kernel_reads_them(runtime: HipRuntime, api: FakeHip) -> None:
    loaded = image()
    launch = runtime.launcher(runtime.load(loaded, runtime.current_device()), loaded)
    launch((3, 2, 1), None, [0x123456789A, True, -5, 1.5, 2.0])
    (made,) = api.launches
    assert (made.function, made.grid, made.block, made.stream) == ("k", (3, 2, 1), (256, 1, 1), 0)
    assert made.arguments == struct.pack("<Q?7xqeH", 0x123456789A, True, -5, 1.5, 0x4000)


def test_the_stream_given_is_used(runtime: HipRuntime, api: FakeHip) -> None:
    loaded = image()
    launch = runtime.launcher(runtime.load(loaded, runtime.current_device()), loaded)
    launch((1, 1, 1), 77, [0, False, 0, 0.0, 0.0])
    assert api.launches[0].stream == 77


def test_an_empty_grid_launches_nothing(runtime: HipRuntime, api: FakeHip) -> None:
    loaded = image()
    launch = runtime.launcher(runtime.load(loaded, runtime.current_device()), loaded)
    launch((0, 1, 1), None, [0, False, 0, 0.0, 0.0])
    assert not api.launches
    with pytest.raises(LaunchError, match="at least 0"):
        launch((1, -1, 1), None, [0, False, 0, 0.0, 0.0])


def test_a_failed_launch_is_reported(runtime: HipRuntime, api: FakeHip) -> None:
    loaded = image()
    launch = runtime.launcher(runtime.load(loaded, runtime.current_device()), loaded)
    api.fail["hipModuleLaunchKernel"] = hipError_t.hipErrorInvalidValue
    with pytest.raises(DeviceError, match=r"launching k .* hipErrorInvalidValue: words for"):
        launch((1, 1, 1), None, [0, False, 0, 0.0, 0.0])
    with pytest.raises(LaunchError, match="y extent"):
        launch((1, 1 << 16, 1), None, [0, False, 0, 0.0, 0.0])


def test_code_with_other_parameters_is_refused_before_hip_has_it(runtime: HipRuntime, api: FakeHip) -> None:
    made = replace(image(), data=compile_body("gfx942", lambda b, hw, args: None).data)
    with pytest.raises(
        LaunchError, match="takes 3 parameters of 8, 8, 4 bytes; a launch passes 5 parameters"
    ):
        runtime.load(made, runtime.current_device())
    assert "hipModuleLoadData" not in api.calls


def test_code_for_another_processor_is_refused(api: FakeHip) -> None:
    runtime = HipRuntime(FakeHip(archs=("gfx1100",)))
    with pytest.raises(DeviceError, match="code for gfx942 cannot run on Fake 0") as caught:
        runtime.load(image(), runtime.current_device())
    assert "amd:gfx1100" in str(caught.value.remedy)
    assert "hipModuleLoadData" not in api.calls


def test_too_much_shared_memory_is_refused(runtime: HipRuntime, api: FakeHip) -> None:
    with pytest.raises(OutOfResources) as caught:
        runtime.load(image(shared=65537), runtime.current_device())
    assert (caught.value.resource, caught.value.have) == ("shared", 65536)
    assert "hipModuleLoadData" not in api.calls


def test_a_kernel_that_is_dropped_is_unloaded(runtime: HipRuntime, api: FakeHip) -> None:
    loaded = image()
    launch = runtime.launcher(runtime.load(loaded, runtime.current_device()), loaded)
    gc.collect()
    assert "hipModuleUnload" not in api.calls
    del launch
    gc.collect()
    assert "hipModuleUnload" in api.calls


def test_the_device_is_chosen_per_call() -> None:
    api = FakeHip(archs=("gfx942", "gfx942"))
    runtime = HipRuntime(api)
    runtime.set_device(1)
    assert api.current == 1
    assert runtime.current_device().index == 1
    with pytest.raises(DeviceError, match="device 2 is asked for; 2 present"):
        runtime.set_device(2)


def test_a_launch_goes_to_the_device_of_its_kernel() -> None:
    api = FakeHip(archs=("gfx942", "gfx942"))
    runtime, loaded = HipRuntime(api), image()
    launches = [runtime.launcher(runtime.load(loaded, device), loaded) for device in runtime.devices()]
    runtime.set_device(0)
    for index in (0, 1, 0):
        launches[index]((1, 1, 1), None, [0, False, 0, 0.0, 0.0])
    assert [made.device for made in api.launches] == [0, 1, 0]
    assert api.loaded == [0, 1]
    assert api.current == 0


def test_memory_copies_and_frees(runtime: HipRuntime, api: FakeHip) -> None:
    host = np.random.default_rng(1).random(100, dtype=np.float32)
    back = np.zeros_like(host)
    with Buffer(runtime.memory(runtime.current_device()), host.nbytes, runtime.current_device()) as buffer:
        buffer.copy_from(host.ctypes.data)
        buffer.copy_to(back.ctypes.data)
        assert len(api.live) == 1
    np.testing.assert_array_equal(back, host)
    assert not api.live
    assert api.calls.index("hipStreamSynchronize") > api.calls.index("hipMemcpyAsync")


def test_full_memory_is_out_of_resources(runtime: HipRuntime, api: FakeHip) -> None:
    api.fail["hipMalloc"] = hipError_t.hipErrorOutOfMemory
    with pytest.raises(OutOfResources, match="no 4096 bytes left"):
        runtime.memory(runtime.current_device()).alloc(4096)


def test_elapsed_is_the_time_between_two_events(runtime: HipRuntime) -> None:
    loaded = image()
    launch = runtime.launcher(runtime.load(loaded, runtime.current_device()), loaded)
    seconds = runtime.elapsed(lambda: [launch((1, 1, 1), None, [0, False, 0, 0.0, 0.0]) for _ in range(3)])
    assert seconds == pytest.approx(6e-3)
    later = runtime.timer(None, lambda: launch((1, 1, 1), None, [0, False, 0, 0.0, 0.0]))
    runtime.elapsed(lambda: launch((1, 1, 1), None, [0, False, 0, 0.0, 0.0]))  # has events of its own
    assert later() == pytest.approx(2e-3)


def test_host_arrays_are_refused(runtime: HipRuntime) -> None:
    assert runtime.host_memory == "refused"
    with pytest.raises(LaunchError, match="host array") as caught:
        runtime.staged([])
    assert "tensor.cuda()" in str(caught.value.remedy)


def test_hip_without_bindings_is_told(monkeypatch) -> None:
    for module in (devices, door):
        monkeypatch.setattr(module, "hip_present", lambda: True)
    monkeypatch.setitem(sys.modules, "hip", None)
    for cached in (devices.probe, door.hip):
        cached.cache_clear()
    with pytest.warns(PluginWarning, match="HIP is there, but hip-python cannot be imported"):
        assert devices.probe() == ()
    devices.probe.cache_clear()


def test_without_hip_there_are_no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "hip_present", lambda: False)
    monkeypatch.setattr(devices, "hip_present", lambda: False)
    devices.probe.cache_clear()
    door.hip.cache_clear()
    assert devices.probe() == ()
    with pytest.raises(DeviceError, match="no hip device is present"):
        HipRuntime().current_device()
    with pytest.raises(DeviceError, match="is not installed") as caught:
        door.hip()
    assert "install ROCm" in str(caught.value.remedy)


def test_the_real_bindings_tell_that_the_library_is_missing() -> None:
    bindings = pytest.importorskip("hip").hip
    if door.hip_present():
        pytest.skip("HIP is installed")
    with pytest.raises(DeviceError, match="hipGetDeviceCount") as caught:
        door.Hip(bindings).call("hipGetDeviceCount")
    assert "install ROCm" in str(caught.value.remedy)


def test_the_real_bindings_take_what_a_launch_gives() -> None:
    helpers = pytest.importorskip("rocm.bindings._hip_helpers")
    address = 0x123456789ABC
    assert helpers.HipModuleLaunchKernel_extra.fromObj(address).as_c_void_p().value == address
