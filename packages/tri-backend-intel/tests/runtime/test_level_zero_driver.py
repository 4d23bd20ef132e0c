"""The whole runtime over Level Zero's functions in Python: what reaches the driver, and what comes back."""

from __future__ import annotations

import gc
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tri
import tri.language as tl
from level_zero_fake import FakeLevelZero
from tri_backend_intel.runtime import IntelRuntime
from tri_backend_intel.runtime.drivers import driver_named, found_devices
from tri_backend_intel.runtime.level_zero.api import Result
from tri_backend_intel.runtime.level_zero.loader import Loader
from tri_backend_intel.runtime.native import NativeRefused
from tri_core import knobs
from tri_core.api import DeviceError, KernelFault, KernelImage, LaunchError, ToolchainError
from tri_runtime import Buffer


@tri.jit
def scaled(x, out, factor, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at) * factor)


BLOCK = 64


def does_scaled(arguments: Sequence[bytes], grid: tuple[int, int, int]) -> None:
    """What the kernel does, on addresses of this process."""
    (x,), (out,), (factor,) = (struct.unpack(f, a) for f, a in zip("PPf", arguments, strict=True))
    count = grid[0] * BLOCK
    read = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_float * count).from_address(x))
    np.ctypeslib.as_array((np.ctypeslib.ctypes.c_float * count).from_address(out))[:] = read * np.float32(
        factor
    )


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeLevelZero]:
    made = FakeLevelZero({"scaled": does_scaled})
    monkeypatch.setattr("tri_backend_intel.runtime.level_zero_driver.loader", lambda: Loader(made))
    found_devices.cache_clear()
    with knobs.scope(INTEL_DRIVER=("level_zero",), CACHE_DIR=tmp_path):
        yield made
    found_devices.cache_clear()


@pytest.fixture
def runtime(fake: FakeLevelZero, monkeypatch: pytest.MonkeyPatch) -> IntelRuntime:
    made = IntelRuntime()
    monkeypatch.setattr("tri_runtime.runtime", lambda kind: made)
    return made


def image(**attrs: object) -> KernelImage:
    types = {"x": "*fp32", "out": "*fp32", "factor": "fp32", "B": "constexpr"}
    source = tri.ASTSource(scaled, types, {"B": BLOCK}, {})
    kernel = tri.compile(source, target="intel:pvc")
    metadata = replace(kernel.metadata, attrs={**kernel.metadata.attrs, **attrs})
    return KernelImage(kind="spv", data=kernel.asm["spv"], metadata=metadata)


def test_the_device_is_named_by_its_pci_id(runtime: IntelRuntime) -> None:
    (device,) = runtime.devices()
    assert (device.kind, device.arch, device.name) == ("sycl", "pvc", "Fake GPU")


def test_a_jit_kernel_runs_and_host_arrays_come_and_go(runtime: IntelRuntime, fake: FakeLevelZero) -> None:
    x, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    with tri.target("intel:pvc"):
        for factor in (2.0, 3.0, 4.0):
            scaled[(4,)](x, out, factor, B=BLOCK)
            np.testing.assert_array_equal(out, x * np.float32(factor))
    assert not fake.memory
    assert fake.calls.count("zeModuleCreate") == 1


def test_buffers_stay_on_the_device(runtime: IntelRuntime, fake: FakeLevelZero) -> None:
    device, made = runtime.current_device(), image()
    launch = runtime.launcher(runtime.load(made, device), made)
    memory = runtime.memory(device)
    x = np.arange(128, dtype=np.float32)
    with Buffer(memory, x.nbytes, device) as a, Buffer(memory, x.nbytes, device) as b:
        memory.copy_in(a.address, x.ctypes.data, x.nbytes)
        launch((2, 1, 1), runtime.current_stream(device), [a.address, b.address, 0.5])
        runtime.synchronize()
        back = np.empty_like(x)
        memory.copy_out(back.ctypes.data, b.address, x.nbytes)
    np.testing.assert_array_equal(back, x / 2)
    assert runtime.elapsed(lambda: None) == 0
    runtime.flush_cache()


def test_the_second_load_takes_the_native_binary(runtime: IntelRuntime, fake: FakeLevelZero) -> None:
    device, made = runtime.current_device(), image()
    first = runtime.load(made, device)
    again = IntelRuntime()
    second = again.load(made, again.current_device())
    counts = [r.programs(device).counts for r in (runtime, again)]  # type: ignore[union-attr]
    assert [(c["built"], c["loaded"]) for c in counts] == [(1, 0), (0, 1)]
    assert first.resources == second.resources


def test_the_mode_that_spills_least_is_taken(runtime: IntelRuntime, fake: FakeLevelZero) -> None:
    fake.spills = {"": 512, "-large": 64}
    kernel = runtime.load(image(register_modes=["", "-large"]), runtime.current_device())
    assert kernel.resources["spills"] == 64


def test_a_module_that_the_driver_refuses(runtime: IntelRuntime, fake: FakeLevelZero) -> None:
    fake.fails["zeModuleCreate"] = Result.ERROR_MODULE_BUILD_FAILURE
    with pytest.raises(ToolchainError, match="the driver of Fake GPU cannot compile kernel scaled") as caught:
        runtime.load(image(), runtime.current_device())
    assert caught.value.tool == "Level Zero"


def test_a_lost_device(runtime: IntelRuntime, fake: FakeLevelZero) -> None:
    runtime.load(image(), runtime.current_device())
    fake.fails["zeCommandListHostSynchronize"] = Result.ERROR_DEVICE_LOST
    with pytest.raises(KernelFault):
        runtime.synchronize()


def test_a_queue_of_sycl_is_refused(runtime: IntelRuntime) -> None:
    made = image()
    launch = runtime.launcher(runtime.load(made, runtime.current_device()), made)
    with pytest.raises(LaunchError, match="not Level Zero's queue"):
        launch((1, 1, 1), 0x5000, [0, 0, 1.0])


def test_a_plan_for_compiled_code(runtime: IntelRuntime) -> None:
    made = image()
    plan = runtime.launch_plan(runtime.load(made, runtime.current_device()), made)
    assert plan is not None
    assert (plan.name, plan.threads) == ("scaled", made.metadata.threads)


def test_devices_without_a_driver_are_an_error_where_asked_for(fake: FakeLevelZero) -> None:
    fake.fails["zeInit"] = Result.ERROR_UNINITIALIZED
    with pytest.raises(DeviceError, match="no driver"):
        IntelRuntime()


def test_trial_builds(fake: FakeLevelZero) -> None:
    ours = driver_named("level_zero")
    ours.check_build("0", b"spirv", "scaled", "")
    with pytest.raises(NativeRefused, match="no such kernel"):
        ours.check_build("0", b"spirv", "other", "")
    with pytest.raises(NativeRefused):
        ours.check_build("0", b"bad", "scaled", "")
    gc.collect()
    assert not [kind for kind, _ in fake.living.values() if kind not in ("list", "context")]
