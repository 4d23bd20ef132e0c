from __future__ import annotations

import ctypes
import gc
import struct
import threading
from collections.abc import Sequence

import pytest

from level_zero_fake import TICK, TICKS, FakeLevelZero
from tri_backend_intel.runtime.level_zero.api import Result
from tri_backend_intel.runtime.level_zero.devices import ze_devices
from tri_backend_intel.runtime.level_zero.kernels import (
    ZeKernel,
    ZeModule,
    launch_plan,
    make_kernel,
    make_launch,
)
from tri_backend_intel.runtime.level_zero.launch import LAUNCH
from tri_backend_intel.runtime.level_zero.loader import Loader
from tri_backend_intel.runtime.level_zero.queue import ZeQueue
from tri_backend_intel.runtime.native.level_zero import LevelZero
from tri_core.api import (
    DeviceError,
    KernelFault,
    KernelImage,
    KernelMetadata,
    KernelSignature,
    LaunchError,
    OutOfResources,
    Parameter,
    TargetKey,
)


class Adds:
    """A kernel: ``out[i] = i + amount`` for as many numbers as there are programs."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, float, tuple[int, int, int]]] = []

    def __call__(self, arguments: Sequence[bytes], grid: tuple[int, int, int]) -> None:
        (address,), (amount,) = struct.unpack("P", arguments[0]), struct.unpack("f", arguments[1])
        self.seen.append((address, amount, grid))


PARAMETERS = (Parameter("out", "*fp32"), Parameter("amount", "fp32"))


def image(threads: int = 64) -> KernelImage:
    metadata = KernelMetadata(
        name="k",
        options={},
        target=TargetKey("intel", "pvc"),
        signature=KernelSignature(name="k", parameters=PARAMETERS),
        num_warps=threads // 16,
        threads_per_warp=16,
    )
    return KernelImage(kind="spv", data=b"spirv", metadata=metadata)


@pytest.fixture
def adds() -> Adds:
    return Adds()


@pytest.fixture
def fake(adds: Adds) -> FakeLevelZero:
    return FakeLevelZero({"k": adds})


#: those that were made, the latest first
queues: list[ZeQueue] = []


def kernel_of(fake: FakeLevelZero, threads: int = 64, options: str = "") -> ZeKernel:
    device = ze_devices(Loader(fake))[0]
    queue = ZeQueue(device)
    queues.insert(0, queue)
    handle = LevelZero(queue.loader, queue.context, device.handle).from_spirv(b"spirv", options)
    return make_kernel(ZeModule(queue, handle), "k", threads, options)


def test_a_launch_hands_over_its_arguments_and_grid(fake: FakeLevelZero, adds: Adds) -> None:
    launch = make_launch(kernel_of(fake), image())
    launch((4, 3, 2), None, [0x1234500, 2.5])
    launch((70000, 1, 1), None, [0, -1.0])
    assert adds.seen == [(0x1234500, 2.5, (4, 3, 2)), (0, -1.0, (70000, 1, 1))]
    assert not fake.raced


def test_the_queues_own_handle_is_a_stream_and_no_other(fake: FakeLevelZero, adds: Adds) -> None:
    kernel = kernel_of(fake)
    launch = make_launch(kernel, image())
    launch((1, 1, 1), kernel.queue.handle, [0, 1.0])
    with pytest.raises(LaunchError, match="not Level Zero's queue") as caught:
        launch((1, 1, 1), kernel.queue.handle + 16, [0, 1.0])
    assert "tri-backend-intel[sycl]" in str(caught.value.remedy)
    assert len(adds.seen) == 1


def test_empty_and_impossible_grids(fake: FakeLevelZero, adds: Adds) -> None:
    launch = make_launch(kernel_of(fake), image())
    launch((0, 1, 1), None, [0, 1.0])
    for grid in ((-1, 1, 1), (2**32, 1, 1)):
        with pytest.raises(LaunchError, match="the grid is"):
            launch(grid, None, [0, 1.0])
    assert not adds.seen


@pytest.mark.parametrize("axis", range(3))
def test_a_grid_is_within_what_target_and_device_say(fake: FakeLevelZero, adds: Adds, axis: int) -> None:
    """The fake device takes 2**32 - 1 groups, the target 2**31 - 1; another device takes 16."""

    def grid(extent: int) -> tuple[int, int, int]:
        x, y, z = (extent if a == axis else 1 for a in range(3))
        return x, y, z

    launch = make_launch(kernel_of(fake), image())
    launch(grid(2**31 - 1), None, [0, 1.0])
    with pytest.raises(LaunchError, match=f"its {'xyz'[axis]} extent must lie between 0 and {2**31 - 1}"):
        launch(grid(2**31), None, [0, 1.0])
    small = kernel_of(fake)
    setattr(small.queue.ze_device.compute, f"maxGroupCount{'XYZ'[axis]}", 16)
    launch = make_launch(small, image())
    launch(grid(16), None, [0, 1.0])
    with pytest.raises(LaunchError, match="between 0 and 16"):
        launch(grid(17), None, [0, 1.0])
    assert [given for _, _, given in adds.seen] == [grid(2**31 - 1), grid(16)]


@pytest.mark.parametrize("function", ["zeKernelSetArgumentValue", "zeCommandListAppendLaunchKernel"])
def test_a_refused_launch_is_an_error_and_frees_the_lock(
    fake: FakeLevelZero, adds: Adds, function: str
) -> None:
    launch = make_launch(kernel_of(fake), image())
    fake.fails[function] = Result.ERROR_OUT_OF_DEVICE_MEMORY
    with pytest.raises(
        DeviceError, match=r"a launch of k over the grid \(1, 1, 1\) failed with ZE_RESULT_ERROR_OUT_OF"
    ):
        launch((1, 1, 1), None, [0, 1.0])
    fake.fails[function] = Result.ERROR_DEVICE_LOST
    with pytest.raises(KernelFault):
        launch((1, 1, 1), None, [0, 1.0])
    del fake.fails[function]
    launch((1, 1, 1), None, [0, 3.0])
    assert [amount for _, amount, _ in adds.seen] == [3.0]


def test_threads_that_launch_at_a_time_keep_their_arguments_apart(fake: FakeLevelZero, adds: Adds) -> None:
    launch = make_launch(kernel_of(fake), image())

    def many(first: int) -> None:
        for i in range(first, first + 100):
            launch((i + 1, 1, 1), None, [i, float(i)])

    threads = [threading.Thread(target=many, args=(100 * t,)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not fake.raced
    assert sorted(adds.seen) == [(i, float(i), (i + 1, 1, 1)) for i in range(400)]


def test_a_plan_launches_by_the_same_code(fake: FakeLevelZero) -> None:
    kernel = kernel_of(fake)
    plan = launch_plan(kernel, image())
    read = LAUNCH.structure.from_address(plan.function)
    assert (read.kernel, read.list, read.count) == (kernel.handle, kernel.queue.handle, 2)
    assert list((ctypes.c_uint64 * 2).from_address(read.sizes)) == [8, 4]
    assert (plan.threads, plan.shared, plan.parameters) == (64, 0, PARAMETERS)


def test_resources_are_what_the_driver_says(fake: FakeLevelZero) -> None:
    fake.spills["-ze-opt-large-register-file"] = 128
    assert kernel_of(fake).resources["spills"] == 0
    found = kernel_of(fake, options="-ze-opt-large-register-file").resources
    assert (found["spills"], found["stack"], found["threads"]) == (128, 64, 1024)


def test_groups_that_the_driver_does_not_run_are_refused_when_loaded(fake: FakeLevelZero) -> None:
    with pytest.raises(OutOfResources) as caught:
        kernel_of(fake, threads=1024)
    assert (caught.value.resource, caught.value.need) == ("threads", 1024)
    del caught
    gc.collect()
    queues[0].wait()
    assert sorted(kind for kind, _ in fake.living.values()) == ["context", "list"]


def test_modules_know_their_kernels(fake: FakeLevelZero) -> None:
    kernel = kernel_of(fake)
    assert kernel.module.has_kernel("k")
    assert not kernel.module.has_kernel("other")


def test_a_kernel_is_given_back_when_its_launches_are_done(fake: FakeLevelZero) -> None:
    kernel = kernel_of(fake)
    queue = kernel.queue
    del kernel
    gc.collect()
    assert "kernel" in [kind for kind, _ in fake.living.values()]
    queue.wait()
    assert sorted(kind for kind, _ in fake.living.values()) == ["context", "list"]


def test_closing_gives_back_what_is_still_used(fake: FakeLevelZero) -> None:
    kernel = kernel_of(fake)
    kernel.queue.close()
    assert not fake.living
    del kernel
    gc.collect()


def test_times_of_launches(fake: FakeLevelZero) -> None:
    kernel = kernel_of(fake)
    launch = make_launch(kernel, image())
    seconds = kernel.queue.timed(lambda: [launch((1, 1, 1), None, [0, 1.0]) for _ in range(3)])
    assert 0 < seconds <= 3 * TICKS * TICK * 1e-9 + 1e-12
