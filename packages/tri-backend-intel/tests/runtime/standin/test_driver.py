"""The stand-in driver without a loader: its tables, driven as a loader's caller would."""

from __future__ import annotations

import ctypes
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import standin_support as support
from standin_support import Failed, compiled, direct, session
from tri_backend_intel.runtime.level_zero.api.enums import Result
from tri_backend_intel.runtime.level_zero.api.structs import (
    CommandListDesc,
    CommandQueueDesc,
    DeviceProperties,
    FenceDesc,
    GroupCount,
    KernelDesc,
    KernelProperties,
    KernelTimestampResult,
)
from tri_backend_intel.runtime.standin import Configuration, DeviceConfiguration, StandIn

N = 1000
SPIRV, NATIVE = 0, 1


@pytest.fixture
def driver() -> Iterator[StandIn]:
    """Two devices, the second in two parts."""
    made = StandIn(
        Configuration(
            devices=(
                DeviceConfiguration(spills={"add": 256}, memory=1 << 22),
                DeviceConfiguration(sub_devices=2, without=frozenset({"SPV_INTEL_2d_block_io"})),
            )
        )
    )
    yield made
    made.close()


def _arrays() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    return rng.standard_normal(N, np.float32), rng.standard_normal(N, np.float32)


def _added(s: Any, x: Any, y: Any, **more: Any) -> int:
    """Launch ``add``; the address of its result."""
    places = [s.allocate(x.nbytes) for _ in range(3)]
    s.write(places[0], x)
    s.write(places[1], y)
    kernel = s.kernel(s.build(compiled("add").asm["spv"]), "add")
    arguments = [*map(ctypes.c_void_p, places), ctypes.c_int32(N)]
    s.launch(kernel, compiled("add").metadata.threads, (16, 1, 1), arguments, **more)
    return int(places[2])


@contextmanager
def _lost() -> Iterator[None]:
    """The body ends with a device lost."""
    with pytest.raises(Failed) as failed:
        yield
    assert failed.value.code == Result.ERROR_DEVICE_LOST


@pytest.mark.parametrize("mode", [1, 2], ids=["synchronous", "asynchronous"])
def test_a_kernel_runs(driver: StandIn, mode: int) -> None:
    x, y = _arrays()
    with session(direct(driver), mode=mode) as s:
        out = _added(s, x, y)
        np.testing.assert_array_equal(s.read(out, x), x + y)
    assert driver.left() == []


def test_dots_run_through_the_matrix_instructions(driver: StandIn) -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((32, 64), (64, 32)))
    kernel = compiled("matmul")
    assert any("matrix_multiply" in e for e in kernel.metadata.attrs["spirv_extensions"])
    with session(direct(driver)) as s:
        places = [s.allocate(n) for n in (a.nbytes, b.nbytes, 32 * 32 * 4)]
        s.write(places[0], a)
        s.write(places[1], b)
        made = s.kernel(s.build(kernel.asm["spv"]), "matmul")
        s.launch(
            made, kernel.metadata.threads, (1, 1, 1), [*map(ctypes.c_void_p, places), ctypes.c_int32(64)]
        )
        got = s.read(places[2], np.empty((32, 32), np.float32))
    np.testing.assert_allclose(got, a.astype(np.float64) @ b.astype(np.float64), atol=1e-4)


def test_work_is_asynchronous_and_ordered_by_events(driver: StandIn) -> None:
    call = direct(driver)
    x, y = _arrays()
    with session(call) as s:
        gate, done = s.events(2)
        out = _added(s, x, y, waits=[gate], signal=done)
        assert call.code("zeEventQueryStatus", done) == Result.NOT_READY
        assert call.code("zeEventHostSynchronize", done, 1_000_000) == Result.NOT_READY
        assert call.code("zeCommandListHostSynchronize", s.queue, 0) == Result.NOT_READY
        # destroying what is in use is refused, not waited for
        assert call.code("zeCommandListDestroy", s.queue) == Result.ERROR_HANDLE_OBJECT_IN_USE
        call("zeEventHostSignal", gate)
        call("zeEventHostSynchronize", done, support.FOREVER)
        np.testing.assert_array_equal(s.read(out, x), x + y)


def test_time_stamps_are_the_time_of_the_kernel(driver: StandIn) -> None:
    call = direct(driver)
    x, y = _arrays()
    with session(call) as s:
        (first,) = s.events(1)
        before = time.monotonic_ns()
        _added(s, x, y, signal=first)
        s.wait()
        seconds = time.monotonic_ns() - before
        found, properties = KernelTimestampResult(), DeviceProperties.new()
        call("zeEventQueryKernelTimestamp", first, ctypes.byref(found))
        call("zeDeviceGetProperties", s.device, ctypes.byref(properties))
    mask = (1 << properties.kernelTimestampValidBits) - 1
    assert max(found.global_.kernelStart, found.global_.kernelEnd) <= mask
    ticks = (found.global_.kernelEnd - found.global_.kernelStart) & mask
    assert 0 < ticks * properties.timerResolution <= seconds + properties.timerResolution


def test_lists_queues_and_fences(driver: StandIn) -> None:
    call = direct(driver)
    with session(call) as s:
        desc = CommandListDesc.new()
        commands = call.handle("zeCommandListCreate", s.context, s.device, ctypes.byref(desc))
        queue = call.handle(
            "zeCommandQueueCreate", s.context, s.device, ctypes.byref(CommandQueueDesc.new(mode=2))
        )
        fence = call.handle("zeFenceCreate", queue, ctypes.byref(FenceDesc.new()))
        out, pattern = s.allocate(64), ctypes.c_uint16(0x1234)
        call("zeCommandListAppendMemoryFill", commands, out, ctypes.byref(pattern), 2, 64, None, 0, None)
        lists = (ctypes.c_void_p * 1)(commands)
        assert (
            call.code("zeCommandQueueExecuteCommandLists", queue, 1, lists, fence)
            == Result.ERROR_INVALID_ARGUMENT
        )
        call("zeCommandListClose", commands)
        assert call.code("zeFenceQueryStatus", fence) == Result.NOT_READY
        call("zeCommandQueueExecuteCommandLists", queue, 1, lists, fence)
        call("zeFenceHostSynchronize", fence, support.FOREVER)
        call("zeCommandQueueSynchronize", queue, support.FOREVER)
        np.testing.assert_array_equal(s.read(out, np.empty(32, np.uint16)), 0x1234)
        for name, handle in (("zeFence", fence), ("zeCommandQueue", queue), ("zeCommandList", commands)):
            call(f"{name}Destroy", handle)
    assert driver.left() == []


def test_arguments_are_those_of_the_launch(driver: StandIn) -> None:
    """What is set after a launch was appended does not change it."""
    call = direct(driver)
    x, y = _arrays()
    with session(call) as s:
        (gate,) = s.events(1)
        out = _added(s, x, y, waits=[gate])
        kernel = next(h for n, h in reversed(s._made) if n == "zeKernelDestroy")
        call("zeKernelSetArgumentValue", kernel, 3, 4, ctypes.byref(ctypes.c_int32(0)))
        call("zeEventHostSignal", gate)
        np.testing.assert_array_equal(s.read(out, x), x + y)


def test_modules_are_refused_with_a_log(driver: StandIn) -> None:
    call = direct(driver)
    good = compiled("add").asm["spv"]
    with session(call) as s:
        for image, options, said in (
            (good[:-40], "", "not a whole SPIR-V module"),
            (compiled("add", carry=False).asm["spv"], "", "TRI_INTEL_STANDIN=pvc"),
            (compiled("add", "bmg").asm["spv"], "", "compiled for bmg"),
            (good, "-wrong", "unknown option -wrong"),
        ):
            with pytest.raises(Failed) as failed:
                s.build(image, options)
            assert failed.value.code == Result.ERROR_MODULE_BUILD_FAILURE
            assert said in failed.value.log
        driver.fail_build("error: internal compiler error")
        with pytest.raises(Failed, match="internal compiler error"):
            s.build(good)
        s.build(good)


def test_an_extension_that_the_driver_lacks_is_named() -> None:
    lacking = DeviceConfiguration(without=frozenset({"SPV_INTEL_subgroup_matrix_multiply_accumulate"}))
    driver = StandIn(Configuration(devices=(lacking,)))
    with session(direct(driver)) as s, pytest.raises(Failed) as failed:
        s.build(compiled("matmul").asm["spv"])
    assert "SPV_INTEL_subgroup_matrix_multiply_accumulate" in failed.value.log
    driver.close()


def test_native_images_are_of_one_driver_and_device(driver: StandIn) -> None:
    _x, _y = _arrays()
    with session(direct(driver)) as s:
        image = s.bytes_of("zeModuleGetNativeBinary", s.build(compiled("add").asm["spv"]))
        s.build(image, form=NATIVE)
        with pytest.raises(Failed) as failed:
            s.build(image[:-3], form=NATIVE)
        assert failed.value.code == Result.ERROR_INVALID_NATIVE_BINARY
    newer = StandIn(Configuration(version=(1, 6, 35001)))
    with session(direct(newer)) as s, pytest.raises(Failed) as failed:
        s.build(image, form=NATIVE)
    assert failed.value.code == Result.ERROR_INVALID_NATIVE_BINARY
    newer.close()


def test_kernels_tell_what_they_take(driver: StandIn) -> None:
    call = direct(driver)
    with session(call) as s:
        for options, spills in (("", 256), ("-ze-opt-large-register-file", 0)):
            kernel = s.kernel(s.build(compiled("add").asm["spv"], options), "add")
            found = KernelProperties.new()
            call("zeKernelGetProperties", kernel, ctypes.byref(found))
            assert (found.numKernelArgs, found.spillMemSize, found.requiredSubgroupSize) == (4, spills, 16)
            assert s.text("zeKernelGetName", kernel) == "add"


def test_wrong_arguments_and_work_groups_are_refused(driver: StandIn) -> None:
    call = direct(driver)
    with session(call) as s:
        module = s.build(compiled("add").asm["spv"])
        with pytest.raises(Failed) as failed:
            s.kernel(module, "sub")
        assert failed.value.code == Result.ERROR_INVALID_KERNEL_NAME
        kernel, value = s.kernel(module, "add"), ctypes.c_int64(1)
        groups = ctypes.byref(GroupCount(1, 1, 1))
        expected = {
            (
                "zeKernelSetArgumentValue",
                kernel,
                4,
                4,
                ctypes.byref(value),
            ): Result.ERROR_INVALID_KERNEL_ARGUMENT_INDEX,
            (
                "zeKernelSetArgumentValue",
                kernel,
                3,
                8,
                ctypes.byref(value),
            ): Result.ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
            ("zeKernelSetGroupSize", kernel, 17, 1, 1): Result.ERROR_INVALID_GROUP_SIZE_DIMENSION,
            (
                "zeCommandListAppendLaunchKernel",
                s.queue,
                kernel,
                groups,
                None,
                0,
                None,
            ): Result.ERROR_INVALID_ARGUMENT,
            ("zeKernelDestroy", module): Result.ERROR_INVALID_ARGUMENT,
            ("zeKernelDestroy", None): Result.ERROR_INVALID_NULL_HANDLE,
            ("zeModuleDestroy", module): Result.ERROR_HANDLE_OBJECT_IN_USE,
        }
        for (name, *arguments), code in expected.items():
            assert call.code(name, *arguments) == code, name


def test_memory_ends(driver: StandIn) -> None:
    call = direct(driver)
    with session(call) as s:
        s.allocate(3 << 20)
        with pytest.raises(Failed) as failed:
            s.allocate(2 << 20)
        assert failed.value.code == Result.ERROR_OUT_OF_DEVICE_MEMORY
        assert call.code("zeMemFree", s.context, s._memory[0] + 64) == Result.ERROR_INVALID_ARGUMENT
        assert call.code("zeContextDestroy", s.context) == Result.ERROR_HANDLE_OBJECT_IN_USE


def test_devices_and_their_parts(driver: StandIn) -> None:
    call = direct(driver)
    (handle,) = call.drivers()
    first, second = call.listed("zeDeviceGet", handle)
    assert call.listed("zeDeviceGetSubDevices", first) == []
    parts = call.listed("zeDeviceGetSubDevices", second)
    roots = []
    for device in (second, *parts):
        root = ctypes.c_void_p()
        call("zeDeviceGetRootDevice", device, ctypes.byref(root))
        roots.append(root.value)
    assert roots == [None, second, second]
    reached = ctypes.c_uint8()
    call("zeDeviceCanAccessPeer", first, second, ctypes.byref(reached))
    assert reached.value == 1


def test_a_peer_out_of_reach_is_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    driver = StandIn(Configuration(devices=(DeviceConfiguration(),) * 2, peers=False))
    call = direct(driver)
    x, _y = _arrays()
    (handle,) = call.drivers()
    other = call.listed("zeDeviceGet", handle)[1]
    with _lost(), session(call) as s:
        s.device, mine = other, s.device
        far = s.allocate(x.nbytes)
        s.device = mine
        near = [s.allocate(x.nbytes) for _ in range(2)]
        kernel = s.kernel(s.build(compiled("add").asm["spv"]), "add")
        arguments = [*map(ctypes.c_void_p, (far, *near)), ctypes.c_int32(N)]
        s.launch(kernel, compiled("add").metadata.threads, (1, 1, 1), arguments)
        s.wait()
    assert "outside of any buffer" in caplog.text
    driver.close()


def test_a_device_lost_in_a_launch_hangs_nobody(driver: StandIn, caplog: pytest.LogCaptureFixture) -> None:
    call = direct(driver)
    x, y = _arrays()
    driver.lose_device(0, launch=1)
    with caplog.at_level(logging.ERROR), _lost(), session(call) as s:
        gate, done = s.events(2)
        _added(s, x, y, waits=[gate], signal=done)
        call("zeEventHostSignal", gate)
        assert call.code("zeEventHostSynchronize", done, support.FOREVER) == Result.ERROR_DEVICE_LOST
        assert call.code("zeDeviceGetStatus", s.device) == Result.ERROR_DEVICE_LOST
        assert call.code("zeContextGetStatus", s.context) == Result.ERROR_DEVICE_LOST
        shown = ctypes.c_char_p()
        (handle,) = call.listed("zeDriverGet")
        call("zeDriverGetLastErrorDescription", handle, ctypes.byref(shown))
        assert b"launch 1 was to lose the device" in (shown.value or b"")
        s.wait()
    assert "device 0 is lost" in caplog.text
    # the other one lives
    with session(call, 1) as s:
        np.testing.assert_array_equal(s.read(_added(s, x, y), x), x + y)


def test_an_access_out_of_bounds_loses_the_device(driver: StandIn, caplog: pytest.LogCaptureFixture) -> None:
    x, _y = _arrays()
    with _lost(), session(direct(driver)) as s:
        places = [s.allocate(x.nbytes) for _ in range(3)]
        kernel = s.kernel(s.build(compiled("add").asm["spv"]), "add")
        arguments = [*map(ctypes.c_void_p, places), ctypes.c_int32(N + 1)]
        s.launch(kernel, compiled("add").metadata.threads, (16, 1, 1), arguments)
        s.wait()
    assert "outside of any buffer" in caplog.text
    assert "kernel add" in caplog.text


def test_answers_on_demand(driver: StandIn) -> None:
    call = direct(driver)
    driver.answer("zeInit", Result.ERROR_UNINITIALIZED)
    assert call.code("zeInit", 1) == Result.ERROR_UNINITIALIZED
    driver.answer("zeInit", None)
    assert call.code("zeInit", 1) == Result.SUCCESS


def test_after_its_end_nothing_is_supported(driver: StandIn) -> None:
    call = direct(driver)
    driver.close()
    assert call.code("zeInit", 1) == Result.ERROR_UNSUPPORTED_FEATURE


def test_idle_launches_run_nothing(driver: StandIn) -> None:
    x, y = _arrays()
    with session(direct(driver)) as s:
        with driver.idle():
            out = _added(s, x, y)
            assert driver.skipped == 1
            assert s.read(out, x).view(np.uint8).tolist() == [0xA5] * x.nbytes
        np.testing.assert_array_equal(s.read(_added(s, x, y), x), x + y)


def test_a_handle_that_is_gone_is_no_other_object(driver: StandIn) -> None:
    """Also for the library's own code, which looks at what is behind a handle."""
    call = direct(driver)
    value = ctypes.c_int32(1)
    with session(call) as s:
        module = s.build(compiled("add").asm["spv"])
        gone = call.handle("zeKernelCreate", module, ctypes.byref(KernelDesc.new(pKernelName=b"add")))
        call("zeKernelDestroy", gone)
        others = [s.kernel(module, "add") for _ in range(50)]
        assert gone not in others
        assert (
            call.code("zeKernelSetArgumentValue", gone, 3, 4, ctypes.byref(value))
            == Result.ERROR_INVALID_ARGUMENT
        )


def test_a_null_pointer_is_an_argument(driver: StandIn, caplog: pytest.LogCaptureFixture) -> None:
    """It is set, and a kernel that loads through it loses the device."""
    call = direct(driver)
    with _lost(), session(call) as s:
        kernel = s.kernel(s.build(compiled("add").asm["spv"]), "add")
        for i in range(3):
            call("zeKernelSetArgumentValue", kernel, i, 8, None)
        call("zeKernelSetArgumentValue", kernel, 3, 4, ctypes.byref(ctypes.c_int32(N)))
        call("zeKernelSetGroupSize", kernel, compiled("add").metadata.threads, 1, 1)
        groups = ctypes.byref(GroupCount(1, 1, 1))
        call("zeCommandListAppendLaunchKernel", s.queue, kernel, groups, None, 0, None)
        s.wait()
    assert "0x0 is outside of any buffer" in caplog.text
