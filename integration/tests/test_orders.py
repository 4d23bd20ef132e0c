"""Faults that one order of a simulated launch calls right, and others do not; right kernels are right in all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tri
import tri.language as tl
from integration.random_kernels import running
from integration.random_kernels.strategy import seeded
from integration.tests.test_planted_faults import Fault
from tri_core import compiler
from tri_core.errors import SimulationError, TriError

_TARGET = "sim:nvidia:sm_90a"
#: orders in which a launch is done besides the natural one
_ORDERS = 8
Array = npt.NDArray[Any]


@tri.jit
def hands_over(x: Any, y: Any, N: tl.constexpr) -> None:
    """Another thread loads what one has stored; the compiler puts a barrier between."""
    i = tl.arange(0, N)
    tl.store(x + i, i)
    tl.store(y + i, tl.load(x + (N - 1 - i)))


@tri.jit
def sends_a_block(x: Any, flag: Any, y: Any, N: tl.constexpr) -> None:
    """A program stores a block by a copy and says so; another loads it by pointers."""
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    if tl.program_id(0) == 0:
        block = tl.make_tensor_descriptor(x, [N, N], [N, 1], [N, N])
        block.store([0, 0], (i * N + j).to(tl.float32))
        tl.atomic_xchg(flag, 1, sem="release")
    else:
        while tl.atomic_add(flag, 0, sem="acquire") == 0:
            pass
        tl.store(y + i * N + j, tl.load(x + i * N + j))


@tri.jit
def fetches_a_block(x: Any, y: Any, N: tl.constexpr) -> None:
    """A block is stored by pointers and fetched by a copy."""
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    block = tl.make_tensor_descriptor(x, [N, N], [N, 1], [N, N])
    tl.store(x + i * N + j, (i * N + j).to(tl.float32))
    tl.store(y + i * N + j, block.load([0, 0]))


def _anew(kernel: Any) -> Any:
    """``kernel`` of which nothing is compiled."""
    return tri.jit(kernel.fn)


def _hand_over() -> Array:
    y = np.zeros(512, np.int32)
    _anew(hands_over)[(1,)](np.zeros(512, np.int32), y, N=512, num_warps=4)
    return y - np.arange(512)[::-1]


def _send() -> Array:
    y = np.zeros((16, 16), np.float32)
    _anew(sends_a_block)[(2,)](np.zeros((16, 16), np.float32), np.zeros(1, np.int32), y, N=16)
    return y - np.arange(256).reshape(16, 16)


def _fetch() -> Array:
    y = np.zeros((16, 16), np.float32)
    _anew(fetches_a_block)[(1,)](np.zeros((16, 16), np.float32), y, N=16)
    return y - np.arange(256).reshape(16, 16)


_HAZARDS = "tri_gpu_dialect.transforms.memory.global_hazards:GlobalWalk._tell_copies"
FAULTS: dict[str, tuple[Fault, Callable[[], Array]]] = {
    "no barrier between threads": (
        Fault(
            _TARGET,
            "tri_gpu_dialect.transforms.memory.insert_barriers:InsertBarriers.apply",
            "GlobalWalk.through(function)",
            "pass",
        ),
        _hand_over,
    ),
    "a wait for what has been read, not written": (
        Fault(
            _TARGET,
            "tri_gpu_dialect.async_units.lower_descriptors_to_tma:_order_global_memory",
            "if _OUT_OF in names:",
            "if False:",
        ),
        _send,
    ),
    "no fence before a copy of what was stored": (
        Fault(_TARGET, _HAZARDS, "if not self.has_copies:", "if True:"),
        _fetch,
    ),
}


def _forget() -> None:
    running.forget()
    compiler.forget()


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_the_natural_order_hides(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Right as it is in the natural order with the fault, and in all orders without."""
    fault, wrong = FAULTS[name]
    with tri.target(_TARGET):
        with monkeypatch.context() as planted:
            planted.setenv("TRI_CACHE_DIR", str(tmp_path))
            fault.plant(planted)
            _forget()
            with tri.simulation(report=False):
                assert not wrong().any()
            with tri.simulation(report=False, schedules=_ORDERS), pytest.raises(SimulationError) as caught:
                wrong()
        _forget()
        with tri.simulation(report=False, schedules=_ORDERS, races=True):
            assert not wrong().any()
    assert caught.value.check == "order"
    assert "schedule=" in caught.value.message


def test_an_error_names_the_order_that_repeats_it() -> None:
    """A failure in another order alone."""
    with (
        tri.target(_TARGET),
        tri.simulation(report=False, schedules=_ORDERS),
        pytest.raises(TriError) as caught,
    ):
        waits_weakly[(2,)](np.zeros(1, np.int32), np.zeros(1, np.int32), num_warps=1)
    assert "schedule=" in "".join(caught.value.__notes__)


@tri.jit
def waits_weakly(flag: Any, out: Any) -> None:
    if tl.program_id(0) == 1:
        tl.store(flag, 1)
    else:
        seen = tl.load(flag)
        while seen == 0:
            seen = tl.load(flag)
        tl.store(out, seen)


@pytest.mark.parametrize("target", [_TARGET, "sim:nvidia:sm_80", "sim:amd:gfx942", "sim:intel:pvc"])
def test_right_kernels_are_right_in_all_orders(target: str) -> None:
    """Ten random kernels on each target; the family of several programs has its own sweep."""
    for number in range(10):
        kernel = seeded(7, number)
        expected = running.run(kernel, "numpy")
        with tri.simulation(report=False, schedules=_ORDERS):
            try:
                found = running.run(kernel, target)
            except TriError as error:
                if running.is_refusal(error):
                    continue
                raise
        assert not running.difference(kernel, ("numpy", target), expected, found)
