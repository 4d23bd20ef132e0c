from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from fake_runtime import FakeRuntime
from tri_core.api import (
    ArrayArgument,
    DeviceError,
    KernelImage,
    KernelMetadata,
    KernelSignature,
    LaunchError,
    OutOfResources,
    TargetKey,
)
from tri_runtime import Buffer, Device, ForkGuard, check_grid, check_resources, registry


def metadata(**given):
    return KernelMetadata(
        name="k", target=TargetKey("fake", "f1"), signature=KernelSignature(name="k", parameters=()),
        options={}, threads_per_warp=32, **given,
    )  # fmt: skip


def test_limits_are_checked_before_a_driver_is_asked():
    limits = {"shared": 1024, "threads": 256, "registers": 255}
    check_resources(metadata(shared=1024, num_warps=8, resources={"registers": 255}), limits)
    for need, resource in [({"shared": 1025}, "shared"), ({"num_warps": 16}, "threads")]:
        with pytest.raises(OutOfResources) as caught:
            check_resources(metadata(**need), limits)
        assert caught.value.resource == resource
        assert caught.value.need > caught.value.have
        assert caught.value.remedy
    with pytest.raises(OutOfResources, match="256 of 'registers'"):
        check_resources(metadata(resources={"registers": 256}), limits)
    with pytest.raises(OutOfResources, match="4096 of 'shared'"):
        FakeRuntime().load(KernelImage(kind="x", data=b"", metadata=metadata(shared=4096)), None)


def test_grid_limits():
    limits = {"grid_x": 10, "grid_y": 5, "grid_z": 5}
    check_grid((10, 5, 0), limits)
    with pytest.raises(LaunchError, match="y extent"):
        check_grid((10, 6, 1), limits)
    with pytest.raises(LaunchError, match="x extent"):
        check_grid((-1, 1, 1), limits)


def test_device_is_chosen_per_thread():
    runtime = FakeRuntime()
    runtime.set_device(1)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(runtime.current_device().index))
    thread.start()
    thread.join()
    assert (runtime.current_device().index, seen) == (1, [0])
    with Device(runtime, runtime.devices()[0]).current() as device:
        assert runtime.current_device().index == 0
        assert device.stream().handle == 0
    assert runtime.current_device().index == 1
    with pytest.raises(DeviceError, match="device 2 is asked for; 2 present"):
        runtime.set_device(2)


def test_no_device():
    with pytest.raises(DeviceError, match="no fake device is present") as caught:
        FakeRuntime(count=0).current_device()
    assert caught.value.remedy


def test_host_memory_modes():
    x = np.arange(8, dtype=np.float32)
    array = ArrayArgument(x.ctypes.data, "fp32", x.nbytes)
    with FakeRuntime("direct").staged([array]) as handles:
        assert handles == (x.ctypes.data,)
    with FakeRuntime("staged").staged([array]) as handles:
        assert handles != (x.ctypes.data,)
    with pytest.raises(LaunchError, match="host array") as caught:
        FakeRuntime("refused").staged([array])
    assert caught.value.remedy


def test_buffer_round_trip_and_ownership():
    runtime, x, y = FakeRuntime(), np.random.default_rng(3).random(16), np.zeros(16)
    with Buffer(runtime.blocks, x.nbytes, runtime.devices()[0]) as buffer:
        buffer.copy_from(x.ctypes.data)
        buffer.copy_to(y.ctypes.data)
        assert buffer.argument("fp64").nbytes == 128
        with pytest.raises(LaunchError, match="129 bytes"):
            buffer.copy_from(x.ctypes.data, 129)
    np.testing.assert_array_equal(x, y)
    assert not runtime.blocks.live
    with pytest.raises(LaunchError, match="closed"):
        buffer.argument("fp64")


def test_a_fork_is_refused():
    guard = ForkGuard("the fake runtime", pid=os.getpid() + 1)
    with pytest.raises(DeviceError, match="cannot be used in its fork") as caught:
        guard.check()
    assert "spawn" in str(caught.value)
    ForkGuard("x").check()


def test_registry_makes_each_runtime_once(monkeypatch):
    made = []

    class Manager:
        def runtime(self, kind):
            made.append(kind)
            return FakeRuntime()

    import tri_core.plugins

    monkeypatch.setattr(tri_core.plugins, "manager", Manager, raising=False)
    registry.forget()
    assert registry.runtime("fake") is registry.runtime("fake")
    assert made == ["fake"]
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(DeviceError, match="fork"):
        registry.runtime("fake")
    registry.forget()
