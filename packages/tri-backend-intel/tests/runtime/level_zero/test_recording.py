"""Recordings and fences on the stand-in driver, called by its tables: no loader is needed."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from standin_support import compiled, direct
from tri_backend_intel.runtime.level_zero.api import Result
from tri_backend_intel.runtime.level_zero.devices import ze_devices
from tri_backend_intel.runtime.level_zero.events import ZeEvents
from tri_backend_intel.runtime.level_zero.kernels import ZeKernel, ZeModule, make_kernel
from tri_backend_intel.runtime.level_zero.loader import Loader
from tri_backend_intel.runtime.level_zero.memory import ZeMemory
from tri_backend_intel.runtime.level_zero.queue import ZeQueue
from tri_backend_intel.runtime.level_zero.recording import ZeRecording
from tri_backend_intel.runtime.native.level_zero import LevelZero
from tri_backend_intel.runtime.standin import StandIn
from tri_core.api import DeviceError, KernelFault, LaunchError

N = 1000


@pytest.fixture
def driver() -> Iterator[StandIn]:
    made = StandIn()
    yield made
    made.close()


@pytest.fixture
def queue(driver: StandIn) -> ZeQueue:
    return ZeQueue(ze_devices(Loader(SimpleNamespace(**direct(driver).functions)))[0])


def added(queue: ZeQueue) -> ZeKernel:
    built = LevelZero(queue.loader, queue.context, queue.ze_device.handle)
    module = ZeModule(queue, built.from_spirv(compiled("add").asm["spv"], ""))
    return make_kernel(module, "add", compiled("add").metadata.threads, "")


def test_a_recording_runs_as_often_as_it_is_submitted(driver: StandIn, queue: ZeQueue) -> None:
    memory, kernel = ZeMemory(queue), added(queue)
    x, out = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    places = [memory.alloc(x.nbytes) for _ in range(2)]
    memory.copy_in(places[1], x.ctypes.data, x.nbytes)
    recording = ZeRecording(queue)
    recording.copy(places[0], x.ctypes.data, x.nbytes)
    for _ in range(2):
        recording.launch(kernel, compiled("add").image, (16, 1, 1), [places[0], places[1], places[0], N])
    recording.copy(out.ctypes.data, places[0], out.nbytes)
    assert not out.any()
    for factor in (1, 5):
        x[:] = factor * np.arange(N)
        recording.submit()
        recording.fence.wait()
        assert recording.fence.done()
        np.testing.assert_array_equal(out, x + 2 * np.arange(N))
    recording.close()
    del kernel
    queue.close()
    assert driver.left() == []


def test_a_fence_is_done_after_what_it_was_submitted_with(driver: StandIn, queue: ZeQueue) -> None:
    """The commands wait for an event, which the host signals."""
    events = ZeEvents(queue.loader, queue.context, queue.ze_device.handle, queue.ze_device.properties, 1)
    gate = events.new()
    recording = ZeRecording(queue)
    recording.wait_for(gate)
    recording.submit()
    assert not recording.fence.done()
    queue.loader("zeEventHostSignal", gate.handle)
    recording.fence.wait()
    assert recording.fence.done()
    recording.close()
    events.close()
    queue.close()
    assert driver.left() == []


def test_what_was_submitted_takes_no_more(queue: ZeQueue) -> None:
    recording, kernel = ZeRecording(queue), added(queue)
    with pytest.raises(LaunchError, match="must lie between 0 and"):
        recording.launch(kernel, compiled("add").image, (2**31, 1, 1), [0, 0, 0, N])
    recording.submit()
    with pytest.raises(LaunchError, match="takes no more") as caught:
        recording.launch(kernel, compiled("add").image, (1, 1, 1), [0, 0, 0, N])
    assert caught.value.remedy
    with pytest.raises(LaunchError):
        recording.copy(0, 0, 4)
    recording.close()


def test_a_device_lost_in_a_recording_is_a_fault(driver: StandIn, queue: ZeQueue) -> None:
    kernel, place = added(queue), ZeMemory(queue).alloc(4 * N)
    recording = ZeRecording(queue)
    recording.launch(kernel, compiled("add").image, (16, 1, 1), [place, place, place, N])
    driver.lose_device(0, launch=1)
    recording.submit()
    for call in (recording.fence.wait, recording.fence.done, recording.submit):
        with pytest.raises(KernelFault, match="DEVICE_LOST"):
            call()


@pytest.mark.parametrize("refuses", ["zeCommandQueueCreate", "zeCommandListCreate", "zeFenceCreate"])
def test_a_driver_without_them_leaves_nothing_behind(driver: StandIn, queue: ZeQueue, refuses: str) -> None:
    driver.answer(refuses, Result.ERROR_UNSUPPORTED_FEATURE)
    with pytest.raises(DeviceError, match=f"{refuses} failed with ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"):
        ZeRecording(queue)
    queue.close()
    assert driver.left() == []
