"""Launches on queues of the caller's, those of arrays among them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from intel_support import runtime
from tri_backend_intel import adapters
from tri_core.api import DeviceError
from tri_core.plugins import manager

dpctl = pytest.importorskip("dpctl")
memory = pytest.importorskip("dpctl.memory")
N = 1 << 14


@tri.jit
def spin(x_ptr, out_ptr, rounds, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x_ptr + at)
    for _ in range(rounds):
        value = value * 0.5 + 1.0
    tl.store(out_ptr + at, value)


class Array:
    """f32 on a queue, as dpctl's own arrays were."""

    __module__ = "dpctl.made_up"

    def __init__(self, queue: Any) -> None:
        self.memory = memory.MemoryUSMShared(4 * N, queue=queue)
        self.memory.copy_from_host(np.zeros(4 * N, np.uint8))

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        return {**self.memory.__sycl_usm_array_interface__, "typestr": "<f4", "shape": (N,)}

    def numpy(self) -> Any:
        return self.memory.copy_to_host().view(np.float32)


def device() -> Any:
    own = runtime()
    return own.queue(own.current_device()).device.native


@pytest.fixture(params=["in_order", "out of order"])
def queue(request: pytest.FixtureRequest) -> Iterator[Any]:
    words = {"property": "in_order"} if request.param == "in_order" else {}
    made = dpctl.SyclQueue(device(), **words)
    yield made
    made.wait()


def launch(x: Array, out: Array, rounds: int) -> None:
    with tri.target("intel:opencl-cpu"):
        spin[(N // 1024,)](x, out, rounds, BLOCK=1024)


def owner() -> Any:
    from tri_runtime import runtime as runtime_of

    assert manager() is not None
    return runtime_of("sycl")


def test_an_array_brings_its_queue(queue: Any) -> None:
    x, again = Array(queue), Array(queue)
    streams = {adapters.describe(x).stream for _ in range(3)} | {adapters.describe(again).stream}
    assert len(streams) == 1
    assert streams != {adapters.describe(Array(dpctl.SyclQueue(device()))).stream}


def test_kernels_run_on_the_queue_of_the_arrays(queue: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, out = Array(queue), Array(queue)
    launch(x, out, 1)
    own = owner()
    seen: list[int] = []
    entered = own.queue(own.current_device()).visit
    monkeypatch.setattr(own.queue(own.current_device()), "visit", lambda s: seen.append(s) or entered(s))
    launch(x, out, 3)
    np.testing.assert_array_equal(out.numpy(), np.full(N, 1.75, np.float32))
    assert seen == [adapters.describe(x).stream]


def test_times_are_those_of_the_queue_of_the_arrays(queue: Any) -> None:
    x, out = Array(queue), Array(queue)
    launch(x, out, 1 << 16)
    walls = []
    for _ in range(3):
        begin = time.perf_counter()
        launch(x, out, 1 << 16)
        walls.append(time.perf_counter() - begin)
    wall = min(walls)
    own = owner()
    measured = min(own.elapsed(lambda: launch(x, out, 1 << 16)) for _ in range(3))
    assert measured > wall / 4
    own.flush_cache()
    own.synchronize()
    milliseconds = tri.testing.do_bench(lambda: launch(x, out, 1 << 16), warmup=1, rep=1)
    assert milliseconds > wall / 4 * 1e3


def test_synchronize_waits_for_it_and_forgets_it(queue: Any) -> None:
    own = owner()
    mine = own.queue(own.current_device())
    x, out = Array(queue), Array(queue)
    launch(x, out, 1)
    assert mine._others
    own.synchronize()
    assert not mine._others


def test_a_queue_of_another_context_is_refused() -> None:
    other = dpctl.SyclQueue(dpctl.SyclContext([device()]), device(), property="in_order")
    x, out = Array(other), Array(other)
    with pytest.raises(DeviceError, match="another context") as caught:
        launch(x, out, 1)
    assert "dpctl.SyclQueue(device)" in str(caught.value.remedy)


def test_threads_launch_while_another_waits() -> None:
    own, failures = owner(), list[object]()

    def work() -> None:
        queue = dpctl.SyclQueue(device())
        x, out = Array(queue), Array(queue)
        for _ in range(50):
            launch(x, out, 3)
        if not np.array_equal(out.numpy(), np.full(N, 1.75, np.float32)):
            failures.append(queue)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        own.synchronize()
    for thread in threads:
        thread.join()
    assert not failures
