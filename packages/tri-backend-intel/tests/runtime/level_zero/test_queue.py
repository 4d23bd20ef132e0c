from __future__ import annotations

import ctypes

import pytest

from level_zero_fake import TICK, TICKS, FakeLevelZero
from tri_backend_intel.runtime.level_zero.api import MemoryType, Result
from tri_backend_intel.runtime.level_zero.devices import ze_devices
from tri_backend_intel.runtime.level_zero.events import ZeEvents
from tri_backend_intel.runtime.level_zero.loader import Loader
from tri_backend_intel.runtime.level_zero.memory import ZeMemory
from tri_backend_intel.runtime.level_zero.queue import ZeQueue
from tri_core.api import DeviceError, KernelFault, OutOfResources


@pytest.fixture
def fake() -> FakeLevelZero:
    return FakeLevelZero({})


def queue_of(fake: FakeLevelZero) -> ZeQueue:
    return ZeQueue(ze_devices(Loader(fake))[0])


def test_devices_and_what_they_say(fake: FakeLevelZero) -> None:
    fake.count, fake.parts = 2, 2
    one, two = ze_devices(Loader(fake))
    assert (one.name, one.properties.deviceId, one.sub_group_sizes) == ("Fake GPU", fake.device_id, (16, 32))
    assert one.features == {"fp16", "fp64", "atomic64"}
    assert [part.is_part for part in (one, *one.parts())] == [False, True, True]
    assert (one.can_access(two), one.can_access(one), one.has_atomics_on(two)) == (True, False, False)


def test_devices_of_others_are_left_out(fake: FakeLevelZero) -> None:
    fake.vendor = 0x10DE
    assert ze_devices(Loader(fake)) == []


def test_an_old_driver_is_refused_with_its_version(fake: FakeLevelZero) -> None:
    fake.version = 1 << 24 | 3 << 16 | 25000
    with pytest.raises(DeviceError, match=r"1\.3\.25000, has no in-order") as caught:
        queue_of(fake)
    assert "1.3.29534" in str(caught.value.remedy)
    fake.version = 1 << 24 | 3 << 16 | 30000
    queue_of(fake).close()
    assert not fake.living


def test_a_driver_without_the_newest_function_leaves_nothing_behind(fake: FakeLevelZero) -> None:
    fake.fails["zeCommandListHostSynchronize"] = Result.ERROR_UNSUPPORTED_FEATURE
    with pytest.raises(DeviceError, match="cannot wait for an immediate command list"):
        queue_of(fake)
    assert not fake.living


def test_kinds_of_memory(fake: FakeLevelZero) -> None:
    queue = queue_of(fake)
    memory = ZeMemory(queue)
    made = [memory.alloc(100), memory.alloc_host(100), memory.alloc_shared(100)]
    assert [memory.kind(a) for a in made] == [MemoryType.DEVICE, MemoryType.HOST, MemoryType.SHARED]
    assert memory.kind(16) == MemoryType.UNKNOWN
    assert all(a % 256 == 0 for a in made)
    for address in made:
        memory.free(address)
    assert not fake.memory


def test_copies_and_fills(fake: FakeLevelZero) -> None:
    queue = queue_of(fake)
    memory = ZeMemory(queue)
    source, back = ctypes.create_string_buffer(b"abcdefgh", 8), ctypes.create_string_buffer(8)
    there = memory.alloc(8)
    memory.copy_in(there, ctypes.addressof(source), 8)
    queue.fill(there + 6, 0x2A, 2)
    memory.copy_out(ctypes.addressof(back), there, 8)
    assert back.raw == b"abcdef**"


def test_full_memory_says_what_was_asked_for(fake: FakeLevelZero) -> None:
    memory = ZeMemory(queue_of(fake))
    with pytest.raises(OutOfResources) as caught:
        memory.alloc(1 << 40)
    assert (caught.value.resource, caught.value.need) == ("memory", 1 << 40)
    fake.fails["zeMemAllocHost"] = Result.ERROR_UNKNOWN
    with pytest.raises(DeviceError, match="ZE_RESULT_ERROR_UNKNOWN"):
        memory.alloc_host(4)


def test_a_device_lost_while_waiting_is_a_fault(fake: FakeLevelZero) -> None:
    queue = queue_of(fake)
    fake.fails["zeCommandListHostSynchronize"] = Result.ERROR_DEVICE_LOST
    with pytest.raises(KernelFault):
        queue.wait()


@pytest.mark.parametrize("before", [0, 2**32 - 20])
def test_times_are_those_of_the_device_also_where_its_counter_turns(fake: FakeLevelZero, before: int) -> None:
    fake.clock = before
    device = ze_devices(Loader(fake))[0]
    queue = ZeQueue(device)
    events = ZeEvents(queue.loader, queue.context, device.handle, device.properties, 2)
    begin, end = events.new(), events.new()
    assert not end.done()
    begin.record(queue.handle)
    fake.clock += TICKS
    end.record(queue.handle)
    end.wait()
    assert end.done()
    assert events.seconds(begin, end) == pytest.approx(TICKS * TICK * 1e-9)
    events.close()
    queue.close()
    assert not fake.living


def test_timed_gives_its_events_back_also_when_the_function_fails(fake: FakeLevelZero) -> None:
    queue = queue_of(fake)

    def fails() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        queue.timed(fails)
    assert sorted(kind for kind, _ in fake.living.values()) == ["context", "list"]
    assert queue.timed(lambda: None) == 0
