"""Launches of compiled kernels that are like one before: by the plan of that one, or the whole way where something is otherwise."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Iterator
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
