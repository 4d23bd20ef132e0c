"""Launches of compiled kernels that are like one before: by the plan of that one, or the whole way where something is otherwise."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.launch import compiled, dispatcher
from tri_core import knobs, plugins
from tri_core.errors import LaunchError
from tri_core.plugins import PluginManager, candidate_of


@pytest.fixture(autouse=True)
def _fake_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Not the fake one: the CPU's, and no knob set by the program, under which nothing is planned."""
    cpu = importlib.import_module("tri_backend_cpu.plugin")
    monkeypatch.setenv("TRI_CACHE_DIR", str(tmp_path / "cache"))
    with plugins.use(PluginManager([candidate_of(cpu)])):
        yield


@tri.jit
def scaled(o: Any, x: Any, n: Any, f: Any, BLOCK: tl.constexpr) -> None:
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, f * tl.load(x + i, mask=i < n), mask=i < n)


def aligned(values: Any, shift: int = 0) -> Any:
    """An array of float32 whose address is ``shift`` elements behind a multiple of 64 bytes."""
    memory = np.zeros(len(values) + 32, np.float32)
    start = -memory.ctypes.data // 4 % 16 + shift
    found = memory[start : start + len(values)]
    found[:] = values
    return found


@pytest.fixture
def kernel() -> Any:
    types = {"o": "*fp32", "x": "*fp32", "n": "i32", "f": "fp32"}
    known = {(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]]}
    return tri.compile(tri.ASTSource(scaled, types, {"BLOCK": 8}, known), "cpu")


def run(kernel: Any, programs: int, *args: Any) -> None:
    kernel.run(programs, 1, 1, 0, kernel.function, kernel.packed_metadata, None, None, None, *args)


def planned(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launch once, and have every launch fail that goes the whole way."""
    run(kernel, 2, aligned(np.zeros(16)), aligned(np.arange(16)), 16, 2.0, 8)
    assert kernel.state.launches

    def refused(*args: Any) -> Any:
        raise AssertionError("the whole way")

    monkeypatch.setattr(compiled, "run", refused)


@pytest.mark.parametrize("extra", [(8,), ()], ids=["all arguments", "without constants"])
def test_like_launches_go_by_the_plan(kernel: Any, monkeypatch: pytest.MonkeyPatch, extra: Any) -> None:
    run(kernel, 1, aligned(np.zeros(16)), aligned(np.zeros(16)), 16, 1.0, *extra)
    planned(kernel, monkeypatch)
    x, out = aligned(np.arange(32)), aligned(np.zeros(32))
    run(kernel, 4, out, x, 30, 3.0, *extra)
    assert out.tolist() == [*(3 * x[:30]).tolist(), 0.0, 0.0]
    run(kernel, 0, out, x, 30, 5.0, *extra)
    assert out[1] == 3.0


def test_another_alignment_is_refused_as_before(kernel: Any) -> None:
    out, x = aligned(np.zeros(16)), aligned(np.arange(16))
    run(kernel, 2, out, x, 16, 2.0, 8)
    with pytest.raises(LaunchError, match="aligned to 16 bytes"):
        run(kernel, 2, out, aligned(np.arange(16), shift=1), 16, 2.0, 8)
    with pytest.raises(LaunchError, match="takes 5 arguments"):
        run(kernel, 2, out, x)


def test_memory_that_is_only_read_goes_the_whole_way(kernel: Any) -> None:
    out, x = aligned(np.zeros(16)), aligned(np.arange(16))
    run(kernel, 2, out, x, 16, 2.0, 8)
    out.flags.writeable = False
    with pytest.raises(LaunchError, match="read-only"):
        run(kernel, 2, out, x, 16, 4.0, 8)
    assert out[1] == 2.0


def test_arrays_that_overlap_are_launched_as_by_the_function(
    kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = aligned(np.arange(64)), aligned(np.arange(64))
    planned(kernel, monkeypatch)
    run(kernel, 1, first[4:], first, 8, 2.0, 8)
    scaled[(1,)](second[4:], second, 8, 2.0, BLOCK=8)
    assert first.tolist() == second.tolist()


def test_a_knob_that_is_set_has_the_plan_forgotten(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    planned(kernel, monkeypatch)
    given = aligned(np.zeros(8)), aligned(np.ones(8)), 8, 2.0, 8
    start = kernel.state.launches[tuple(map(type, given))]
    assert start((1, 1, 1), given, None)
    with knobs.scope(ARCH=None):
        assert not start((1, 1, 1), given, None)
    assert start((1, 1, 1), given, None)
    dispatcher.forget()
    assert not start((1, 1, 1), given, None)


def test_a_pickled_kernel_has_no_plans(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    planned(kernel, monkeypatch)
    assert pickle.loads(pickle.dumps(kernel)).state.launches == {}
    assert kernel.from_source(kernel.src).state.launches == {}


# --- PyTorch's tensors on the CPU: launched by compiled code -----------------------------------------------


@tri.jit
def counting(o: Any, x: Any, n: Any, BLOCK: tl.constexpr) -> None:
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.load(x + i)
    for step in range(n):
        acc = acc * 3 + step
        tl.store(o + i, acc)


@pytest.fixture
def torch() -> Any:
    native = importlib.import_module("tri_runtime.native")
    found = pytest.importorskip("torch")
    if not native.available() or native.exchange_of(found.Tensor) is None:
        pytest.skip("launches stay in Python here")
    return found


class Compiled:
    """``function`` compiled for ``types`` and BLOCK = 8; ``left``: launches that compiled code left to Python."""

    def __init__(self, function: Any, types: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.kernel = tri.compile(tri.ASTSource(function, types, {"BLOCK": 8}, {}), "cpu")
        self.left = 0
        whole = type(self.kernel).launch_over

        def launch_over(kernel: Any, *given: Any, **others: Any) -> Any:
            self.left += 1
            return whole(kernel, *given, **others)

        monkeypatch.setattr(type(self.kernel), "launch_over", launch_over)
        self.kernel._init_handles()

    def __call__(self, programs: int, *args: Any) -> int:
        """Launch; the number of launches that Python did for it."""
        before = self.left
        run(self.kernel, programs, *args, 8)
        return self.left - before


@pytest.fixture
def scaled_tensors(torch: Any, monkeypatch: pytest.MonkeyPatch) -> Compiled:
    found = Compiled(scaled, {"o": "*fp32", "x": "*fp32", "n": "i32", "f": "fp32"}, monkeypatch)
    assert found(2, torch.zeros(16), torch.arange(16.0), 16, 2.0) == 1
    return found


@pytest.mark.parametrize("programs", [1, 3, 500])
def test_like_launches_go_by_compiled_code(torch: Any, scaled_tensors: Any, programs: int) -> None:
    x = torch.arange(8.0 * programs)
    for factor in (2.0, 3.0, 4.0):
        out = torch.zeros(8 * programs)
        assert scaled_tensors(programs, out, x, 8 * programs - 1, factor) == 0
        assert torch.equal(out[:-1], factor * x[:-1])
        assert out[-1] == 0


def test_tensors_that_overlap_are_left_to_python(torch: Any, scaled_tensors: Any) -> None:
    memory, wanted = torch.arange(64.0), torch.arange(64.0)
    assert scaled_tensors(1, memory[4:12], memory[:8], 8, 2.0) == 1
    wanted[4:12] = 2 * wanted[:8]
    # in place: each element is read and written by one program
    assert scaled_tensors(2, memory[32:48], memory[32:48], 16, 2.0) == 0
    wanted[32:48] *= 2
    # an array whose columns are apart spans what is between them
    columns = memory.view(8, 8)
    assert scaled_tensors(1, columns[:, 6][7:], columns[:, 6][:7], 0, 2.0) == 0
    assert scaled_tensors(1, columns[:, 2], columns[:, 0], 0, 2.0) == 1
    assert memory.tolist() == wanted.tolist()


def test_many_threads_launch_at_the_same_time(torch: Any, scaled_tensors: Any) -> None:
    def work(factor: float) -> list[bool]:
        x, same = torch.arange(4096.0), []
        for _ in range(50):
            out = torch.zeros(4096)
            scaled_tensors(512, out, x, 4096, factor)
            same.append(torch.equal(out, factor * x))
        return same

    with ThreadPoolExecutor(4) as threads:
        assert all(all(found) for found in threads.map(work, (2.0, 3.0, 5.0, 7.0)))


class Ended(Exception):
    """What a handler raises."""


def test_a_handler_that_raises_ends_a_launch_by_compiled_code(
    torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def handler(number: int, frame: Any) -> None:
        raise Ended

    launch = Compiled(counting, {"o": "*i32", "x": "*i32", "n": "i32"}, monkeypatch)
    out, x = torch.zeros(8, dtype=torch.int32), torch.ones(8, dtype=torch.int32)
    launch(1, out, x, 3)
    assert launch(1, out, x, 3) == 0
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Ended):
            launch(1, out, x, 2**31 - 1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert launch(1, out, x, 2) == 0
    assert out.tolist() == [10] * 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_launches(torch: Any, scaled_tensors: Any) -> None:
    x, out = torch.arange(4096.0), torch.zeros(4096)
    scaled_tensors(512, out, x, 4096, 2.0)
    child = os.fork()
    if not child:
        try:
            for factor in (2.0, 3.0, 4.0):
                scaled_tensors(512, out, x, 4096, factor)
            os._exit(0 if torch.equal(out, 4 * x) else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
