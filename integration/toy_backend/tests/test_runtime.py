"""The runtime on top of a driver without a device."""

from __future__ import annotations

import ctypes
import gc
import struct

import numpy as np
import pytest
import tri
from tri_core.api import (
    ArrayArgument,
    DeviceError,
    DeviceInfo,
    KernelImage,
    LaunchError,
    OutOfResources,
    Runtime,
)

import kernels
from fake_driver import FakeDriver
from tri_backend_toy import driver
from tri_backend_toy.runtime import ToyRuntime, probe

DEVICE = DeviceInfo(kind="toy", index=0, arch="t1", name="fake device")


def scale(grid: tuple[int, int, int], arguments: bytes) -> None:
    """``kernels.scale``, which is launched with blocks of 128 elements."""
    out, x, factor, n = struct.unpack("@PPfi", arguments)
    assert grid == (-(-n // 128), 1, 1)
    given = np.frombuffer((ctypes.c_float * n).from_address(x), np.float32)
    np.frombuffer((ctypes.c_float * n).from_address(out), np.float32)[:] = given * factor


@pytest.fixture
def fake() -> FakeDriver:
    return FakeDriver(kernels={"scale": scale})


@pytest.fixture
def runtime(fake: FakeDriver) -> Runtime:
    return ToyRuntime(fake)


def image(**options: int) -> KernelImage:
    """``kernels.scale``, compiled."""
    types = {"out_ptr": "*fp32", "x_ptr": "*fp32", "factor": "fp32", "n": "i32", "BLOCK": "constexpr"}
    source = tri.ASTSource(kernels.scale, types, {"BLOCK": 128})
    return tri.compile(source, target="toy:t1", options=options).image


def launch(runtime: Runtime, made: KernelImage, grid: tuple[int, int, int], n: int) -> None:
    """Launch on arrays of the host, and check the result, as the frontend does it."""
    x = np.random.default_rng(0).random(n, dtype=np.float32)
    out = np.full_like(x, np.nan)
    arrays = [ArrayArgument(array.ctypes.data, "fp32", array.nbytes) for array in (out, x)]
    start = runtime.launcher(runtime.load(made, runtime.current_device()), made)
    with runtime.staged(arrays) as places:
        start(grid, None, [*places, 3.0, n])
        runtime.synchronize()
    expected = x * np.float32(3) if 0 not in grid else np.full_like(x, np.nan)
    np.testing.assert_array_equal(out, expected)


def test_without_a_driver_there_is_no_device_and_a_launch_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(driver, "connect", lambda: None)
    assert probe() == ()
    with pytest.raises(DeviceError) as refused:
        ToyRuntime().current_device()
    assert "sim:toy:t1" in str(refused.value.remedy)


def test_a_device_is_described(runtime: Runtime) -> None:
    assert runtime.devices() == (DEVICE,)


def test_arrays_of_the_host_are_copied_there_and_back(fake: FakeDriver, runtime: Runtime) -> None:
    launch(runtime, image(), (8, 1, 1), 1000)
    assert not fake.memory


@pytest.mark.parametrize("warps", [2, 8])
def test_a_kernel_is_launched_with_its_threads(fake: FakeDriver, runtime: Runtime, warps: int) -> None:
    launch(runtime, image(num_warps=warps), (8, 1, 1), 1000)
    assert fake.threads == [32 * warps]


def test_an_empty_grid_launches_nothing(fake: FakeDriver, runtime: Runtime) -> None:
    launch(runtime, image(), (0, 1, 1), 1000)
    assert not fake.threads


def test_full_memory_is_an_error_that_leaves_nothing_behind(fake: FakeDriver, runtime: Runtime) -> None:
    fake.capacity = 4096
    with pytest.raises(OutOfResources):
        launch(runtime, image(), (8, 1, 1), 1000)
    assert not fake.memory


def test_a_grid_beyond_the_limits_is_refused_before_the_driver_is_asked(
    fake: FakeDriver, runtime: Runtime
) -> None:
    with pytest.raises(LaunchError):
        launch(runtime, image(), (8, 1, 1 << 31), 1000)
    assert not fake.threads


def test_kernels_are_unloaded(fake: FakeDriver, runtime: Runtime) -> None:
    loaded = runtime.load(image(), DEVICE)
    assert list(fake.loaded.values()) == ["scale"]
    del loaded
    gc.collect()
    assert not fake.loaded


def test_an_image_for_another_architecture_is_refused(fake: FakeDriver, runtime: Runtime) -> None:
    fake.architecture = "another"
    with pytest.raises(DeviceError, match="cannot run"):
        launch(runtime, image(), (8, 1, 1), 1000)
