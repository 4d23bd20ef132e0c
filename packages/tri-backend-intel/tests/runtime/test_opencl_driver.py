"""The device of this CPU through OpenCL itself, against the same kernels through SYCL and NumPy."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_backend_intel.runtime import IntelRuntime
from tri_backend_intel.runtime.drivers import driver_named, found_devices
from tri_backend_intel.runtime.native import NativeRefused
from tri_core import knobs
from tri_core.api import DeviceError, DeviceInfo, KernelImage, Launch, LaunchError, OutOfResources
from tri_core.target_selection import resolve
from tri_runtime import Buffer


@tri.jit
def mixed(x, out, n, a, flag, B: tl.constexpr):
    at = (
        tl.program_id(0) + tl.num_programs(0) * (tl.program_id(1) + tl.num_programs(1) * tl.program_id(2))
    ) * B
    at += tl.arange(0, B)
    value = tl.load(x + at, mask=at < n) * a
    tl.store(out + at, tl.where(flag != 0, -value, value), mask=at < n)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[IntelRuntime]:
    with knobs.scope(INTEL_DRIVER=("opencl",)):
        try:
            made = IntelRuntime()
        except DeviceError as error:
            pytest.skip(f"no OpenCL: {error.message}")
        if not made.devices():
            pytest.skip("no OpenCL device of a CPU")
        monkeypatch.setattr("tri_runtime.runtime", lambda kind: made)
        yield made
    found_devices.cache_clear()


def run(grid: tuple[int, int, int], n: int, a: float, flag: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(n).standard_normal(n, dtype=np.float32)
    out = np.zeros_like(x)
    with tri.target("intel:opencl-cpu"):
        mixed[grid](x, out, n, a, flag, B=64)
    return x, out


def test_facts_are_those_that_sycl_tells(runtime: IntelRuntime) -> None:
    pytest.importorskip("dpctl")
    mine = runtime._found[0].facts
    theirs = next(d for d in driver_named("sycl").devices() if d.is_cpu).facts
    assert (mine.vendor, mine.driver_version, mine.platform) == (
        theirs.vendor,
        theirs.driver_version,
        theirs.platform,
    )
    assert (mine.features, mine.sub_group_sizes) == (theirs.features, theirs.sub_group_sizes)


@pytest.mark.parametrize("grid", [(6, 1, 1), (2, 3, 1), (1, 2, 3)])
@pytest.mark.parametrize(("a", "flag"), [(0.5, 0), (-3.0, 1)])
def test_a_kernel(runtime: IntelRuntime, grid: tuple[int, int, int], a: float, flag: int) -> None:
    x, out = run(grid, 380, a, flag)
    np.testing.assert_array_equal(out, (x * np.float32(a)) * (-1 if flag else 1))


def test_threads_keep_their_arguments_apart(runtime: IntelRuntime) -> None:
    found: list[bool] = []

    def many(factor: float) -> None:
        for _ in range(20):
            x, out = run((6, 1, 1), 380, factor, 0)
            found.append(bool((out == x * np.float32(factor)).all()))

    threads = [threading.Thread(target=many, args=(float(t),)) for t in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 80


def test_memory(runtime: IntelRuntime) -> None:
    device = runtime.current_device()
    memory = runtime.memory(device)
    x = np.arange(100, dtype=np.int32)
    with Buffer(memory, x.nbytes, device) as buffer:
        assert buffer.address % 256 == 0
        memory.copy_in(buffer.address, x.ctypes.data, x.nbytes)
        back = np.empty_like(x)
        memory.copy_out(back.ctypes.data, buffer.address, x.nbytes)
    np.testing.assert_array_equal(back, x)
    with pytest.raises(OutOfResources) as caught:
        memory.alloc(1 << 60)
    assert caught.value.need == 1 << 60


def test_another_stream_is_refused(runtime: IntelRuntime) -> None:
    x = np.zeros(64, np.float32)
    launch = launcher_of(runtime, runtime.current_device())
    with pytest.raises(LaunchError, match="not its device's queue of OpenCL"):
        launch((1, 1, 1), 0x5000, [x.ctypes.data, x.ctypes.data, 64, 1.0, 0])
    with pytest.raises(LaunchError, match="the grid is"):
        launch((-1, 1, 1), None, [])


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("driver", ["opencl", "sycl"])
def test_a_grid_beyond_the_limits_is_refused_before_the_driver_is_asked(driver: str, axis: int) -> None:
    if driver == "sycl":
        pytest.importorskip("dpctl")
    with knobs.scope(INTEL_DRIVER=(driver,)):
        try:
            made = IntelRuntime()
        except DeviceError as error:
            pytest.skip(f"no {driver}: {error.message}")
        device = next((d for d in made.devices() if d.arch == "opencl-cpu"), None)
        if device is None:
            pytest.skip(f"{driver} has no device of a CPU")
        launch = launcher_of(made, device)
        x = np.zeros(1, np.float32)
        limit = resolve("intel:opencl-cpu").spec.limits[f"grid_{'xyz'[axis]}"]
        for extent in (limit + 1, 1 << 32, -1):
            gx, gy, gz = (extent if a == axis else 1 for a in range(3))
            with pytest.raises(LaunchError, match=f"its {'xyz'[axis]} extent must lie between 0 and {limit}"):
                launch((gx, gy, gz), None, [x.ctypes.data, x.ctypes.data, 0, 1.0, 0])
        launch((0, 1, limit), None, [])  # nothing runs, and nothing is wrong
    found_devices.cache_clear()


def launcher_of(runtime: IntelRuntime, device: DeviceInfo) -> Launch:
    """The launcher of ``mixed`` on ``device``."""
    x = np.zeros(64, np.float32)
    with tri.target("intel:opencl-cpu"):
        kernel = mixed.warmup(x, x, 64, 1.0, 0, B=64, grid=(1, 1, 1))
    image = KernelImage(kind="spv", data=kernel.asm["spv"], metadata=kernel.metadata)
    return runtime.launcher(runtime.load(image, device), image)


def test_trial_builds(runtime: IntelRuntime) -> None:
    x = np.zeros(64, np.float32)
    with tri.target("intel:opencl-cpu"):
        kernel = mixed.warmup(x, x, 64, 1.0, 0, B=64, grid=(1, 1, 1))
    ours = driver_named("opencl")
    ours.check_build("0", kernel.asm["spv"], "mixed", "-cl-opt-disable")
    with pytest.raises(NativeRefused, match="no such kernel"):
        ours.check_build("0", kernel.asm["spv"], "other", "-cl-opt-disable")


def test_times_and_caches(runtime: IntelRuntime) -> None:
    runtime.flush_cache()
    assert runtime.elapsed(lambda: run((6, 1, 1), 380, 2.0, 0)) > 0
