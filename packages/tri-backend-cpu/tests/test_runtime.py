"""Loading, threads, launching, and what goes wrong there."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from cpu_support import Kernel, cpu_runtime
from tri_backend_cpu.runtime import CpuRuntime
from tri_backend_cpu.runtime.kernel import CpuKernel
from tri_backend_cpu.runtime.launcher import make_launch
from tri_backend_cpu.runtime.pool import ThreadPool
from tri_core import knobs
from tri_core.api import DeviceError, LaunchError, TargetError


def adding() -> Kernel:
    """o[i] += x[i], 64 at a time."""
    k = Kernel({"x": "*i32", "o": "*i32"})
    index = k.add(k.splat(k.mul(k.program_id(), k.constant(64, "i32")), (64,)), k.range(64))
    k.store(k.offsets("o", index), k.add(k.load(k.offsets("o", index)), k.load(k.offsets("x", index))))
    return k


def scratching() -> Kernel:
    """Reverses rows of 4096 numbers through scratch memory."""
    k = Kernel({"x": "*i32", "o": "*i32"})
    index = k.add(k.splat(k.mul(k.program_id(), k.constant(4096, "i32")), (4096,)), k.range(4096))
    value = k.reshape(k.trans(k.reshape(k.load(k.offsets("x", index)), 64, 64), 1, 0), 4096)
    k.store(k.offsets("o", index), value)
    return k


def test_the_device_is_this_machine() -> None:
    live = cpu_runtime()
    assert live.host_memory == "direct"
    assert [d.kind for d in live.devices()] == ["cpu"]
    assert live.current_device() == live.devices()[0]
    with pytest.raises(DeviceError, match="device 1"):
        live.set_device(1)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("programs", [1, 2, 7, 1000])
def test_every_program_runs_once(programs: int, threads: int, rng: np.random.Generator) -> None:
    x = rng.integers(-99, 99, 64 * programs).astype(np.int32)
    o = rng.integers(-99, 99, 64 * programs).astype(np.int32)
    expected = x + o
    with knobs.scope(CPU_THREADS=threads):
        adding().run(x, o, grid=(programs,))
    np.testing.assert_array_equal(o, expected)


def test_threads_have_scratch_memory_of_their_own(rng: np.random.Generator) -> None:
    x = rng.integers(0, 2**31 - 1, (300, 4096)).astype(np.int32)
    o = np.zeros_like(x)
    with knobs.scope(CPU_THREADS=4):
        scratching().run(x, o, grid=(300,))
    np.testing.assert_array_equal(o, x.reshape(300, 64, 64).transpose(0, 2, 1).reshape(300, 4096))


def test_every_thread_has_the_scratch_memory_of_a_launch() -> None:
    """Also threads that were started for a launch that needs less of it than one before."""
    pool = ThreadPool()
    pool._start()
    for threads, nbytes in [(1, 8192), (3, 0), (3, 8192), (4, 100), (2, 70_000), (4, 70_000)]:
        pool._prepare(threads, nbytes)
        reserved = [
            (arena.size, slot.value == arena.address)
            for arena, slot in zip(pool._helpers, pool._slots, strict=True)
        ]
        assert all(size >= nbytes and current for size, current in reserved), (threads, nbytes, reserved)


def test_concurrent_launches(rng: np.random.Generator) -> None:
    """Threads of the user launch at the same time; each gets its own results."""
    launch = scratching().launch()
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            own = np.random.default_rng(seed)
            for _ in range(20):
                x = own.integers(0, 2**31 - 1, (20, 4096)).astype(np.int32)
                o = np.zeros_like(x)
                launch((20, 1, 1), None, [x.ctypes.data, o.ctypes.data])
                np.testing.assert_array_equal(o, x.reshape(20, 64, 64).transpose(0, 2, 1).reshape(20, 4096))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_null_pointers_are_refused() -> None:
    launch = adding().launch()
    with pytest.raises(LaunchError, match="pointer argument 'arg0' of kernel is null"):
        launch((1, 1, 1), None, [0, 4096])
    launch((0, 1, 1), None, [0, 0])  # an empty grid touches nothing


@pytest.mark.parametrize("grid", [(-1, 1, 1), (1 << 31, 1, 1)])
def test_grids_out_of_range_are_refused(grid: tuple[int, int, int]) -> None:
    with pytest.raises(LaunchError, match="grid"):
        adding().launch()(grid, None, [1, 1])


def test_arguments_that_do_not_fit_are_refused() -> None:
    k = Kernel({"o": "*i32", "n": "i32"})
    k.store(k["o"], k["n"])
    launch, o = k.launch(), np.zeros(1, np.int32)
    with pytest.raises(LaunchError, match="arg1 = 4294967296"):
        launch((1, 1, 1), None, [o.ctypes.data, 1 << 32])
    with pytest.raises(LaunchError, match="2 arguments"):
        launch((1, 1, 1), None, [o.ctypes.data])
    launch((1, 1, 1), None, [o.ctypes.data, 7])
    assert o[0] == 7


@pytest.mark.parametrize(
    ("type_", "value", "kind"),
    [
        ("i8", -3, np.int8), ("i16", -300, np.int16), ("i64", 1 << 40, np.int64), ("f32", 1.5, np.float32),
        ("f64", 0.1, np.float64), ("f16", -2.5, np.float16), ("i32", -(1 << 31), np.int32),
    ],
)  # fmt: skip
def test_scalar_arguments(type_: str, value: Any, kind: Any) -> None:
    """After one of another size, so that padding counts."""
    k = Kernel({"o": f"*{type_}", "pad": "i8", "v": type_})
    k.store(k["o"], k["v"])
    o = np.zeros(1, kind)
    k.run(o, 1, value)
    assert o[0] == kind(value)


def test_kernels_of_other_machines_are_refused() -> None:
    foreign = "aarch64" if os.uname().machine == "x86_64" else "x86_64"
    kernel = adding().compile(target=f"cpu:{foreign}")
    with pytest.raises(TargetError, match="which this machine is not"):
        cpu_runtime().load(kernel.image, cpu_runtime().current_device())


def _child(queue: Any) -> None:
    x = np.arange(64 * 100, dtype=np.int32)
    o = np.zeros_like(x)
    with knobs.scope(CPU_THREADS=3):
        adding().run(x, o, grid=(100,))
    queue.put(bool((o == x).all()))


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_of_a_process_that_ran_kernels() -> None:
    """The helpers of the parent are not in the child, which gets some of its own."""
    with knobs.scope(CPU_THREADS=3):
        x = np.arange(64 * 100, dtype=np.int32)
        adding().run(x, np.zeros_like(x), grid=(100,))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_child, args=(queue,))
    process.start()
    assert queue.get(timeout=60)
    process.join(timeout=60)
    assert process.exitcode == 0


def test_two_runtimes_do_not_share_threads(rng: np.random.Generator) -> None:
    kernel = adding().compile()
    x = rng.integers(0, 9, 64 * 64).astype(np.int32)
    for _ in range(2):
        live, o = CpuRuntime(), np.zeros_like(x)
        launch = live.launcher(live.load(kernel.image, live.current_device()), kernel.image)
        launch((64, 1, 1), None, [x.ctypes.data, o.ctypes.data])
        np.testing.assert_array_equal(o, x)


def test_memory_that_threads_use_stays(rng: np.random.Generator) -> None:
    """Helpers wait in it until the process ends, when modules have let go of everything."""
    pools = [ThreadPool()]
    kept = weakref.ref(pools[0])
    kernel = adding().compile()
    live = CpuRuntime()
    x = rng.integers(0, 9, 64 * 64).astype(np.int32)
    o = np.zeros_like(x)
    loaded = live.load(kernel.image, live.current_device())
    assert isinstance(loaded, CpuKernel)
    with knobs.scope(CPU_THREADS=3):
        make_launch(loaded, pools[0])((64, 1, 1), None, [x.ctypes.data, o.ctypes.data])
    np.testing.assert_array_equal(o, x)
    pools.clear()
    gc.collect()
    assert kept() is not None


def test_a_system_without_more_threads(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kernel, live, start = adding().compile(), CpuRuntime(), threading.Thread.start

    def refuses(thread: threading.Thread) -> None:
        if thread.name == "tri-cpu-2":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuses)
    launch = live.launcher(live.load(kernel.image, live.current_device()), kernel.image)
    x = rng.integers(0, 9, 64 * 64).astype(np.int32)
    with knobs.scope(CPU_THREADS=5), caplog.at_level(logging.WARNING):
        for _ in range(3):
            o = np.zeros_like(x)
            launch((64, 1, 1), None, [x.ctypes.data, o.ctypes.data])
            np.testing.assert_array_equal(o, x)
    assert [r.getMessage() for r in caplog.records] == ["kernels run on 2 threads: can't start new thread"]
