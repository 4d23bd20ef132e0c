"""Data races in global memory: the interpreter and simulated targets find them, and report no others."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import numpy as np
import pytest

import tri
from integration.kernels import races as kernels
from tri.tools.tensor_descriptor import TensorDescriptor
from tri_core import knobs
from tri_core.errors import DataRace, SimulationError

SIMULATED = ("sim:nvidia:sm_80", "sim:nvidia:sm_90a", "sim:amd:gfx942", "sim:intel:pvc")
EVERYWHERE = ("interpreter", *SIMULATED)


def watched(target: str) -> AbstractContextManager[Any]:
    """Launches on ``target``, with races looked for."""
    stack = ExitStack()
    if target == "interpreter":
        stack.enter_context(tri.interpret())
    else:
        stack.enter_context(tri.target(target))
        stack.enter_context(tri.simulation(report=False, races=True))
    return stack


def ints(*shape: int, most: int = 100) -> np.ndarray[Any, Any]:
    return np.random.default_rng(16).integers(1, most, shape).astype(np.int32)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(16).standard_normal(shape).astype(np.float32)


def zeros(*shape: int) -> np.ndarray[Any, Any]:
    return np.zeros(shape, np.int32)


def boxes(rows: int, columns: int) -> TensorDescriptor:
    """Boxes of 32 rows."""
    return TensorDescriptor.from_tensor(floats(rows, columns), [32, columns])


def line(kernel: Any, text: str) -> int:
    """The line of ``kernel`` that contains ``text``."""
    code = kernel.fn.__code__
    with open(code.co_filename) as file:
        lines = file.read().splitlines()
    start = code.co_firstlineno
    return next(i for i in range(start, len(lines) + 1) if text in lines[i - 1])


#: kernel, launch, array, the texts of the earlier and of the later line, their kinds
RACES: dict[str, tuple[Any, Callable[[Any], object], str, tuple[str, str], tuple[str, str]]] = {
    "histogram": (
        kernels.histogram,
        lambda k: k[(4,)](ints(256, most=8), zeros(8), 256, BLOCK=64),
        "counts",
        ("tl.store(counts", "tl.load(counts"),
        ("store", "load"),
    ),
    "tail": (
        kernels.overlapping_tail,
        lambda k: k[(4,)](ints(256), zeros(256), 256, BLOCK=64, STEP=60),
        "out",
        ("tl.store(out", "tl.store(out"),
        ("store", "store"),
    ),
    "one cell": (
        kernels.one_cell,
        lambda k: k[(4,)](ints(256), zeros(1), 256, BLOCK=64),
        "out",
        ("tl.store(out", "tl.store(out"),
        ("store", "store"),
    ),
    "neighbour": (
        kernels.reads_its_neighbour,
        lambda k: k[(4,)](ints(256), 256, BLOCK=64),
        "x",
        ("there = tl.load(x", "tl.store(x"),
        ("load", "store"),
    ),
    "atomics": (
        kernels.adds_to_atomics,
        lambda k: k[(4,)](ints(1), zeros(1)),
        "out",
        ("tl.store(out", "tl.atomic_add(out"),
        ("store", "atomic"),
    ),
    "relaxed message": (
        kernels.message,
        lambda k: k[(2,)](zeros(1), zeros(1), zeros(1), SEM="relaxed"),
        "data",
        ("tl.store(data", "tl.load(data"),
        ("store", "load"),
    ),
    "too early": (
        kernels.last_one_sums_too_early,
        lambda k: k[(4,)](ints(256), zeros(4), zeros(1), zeros(1), 256, PROGRAMS=4, BLOCK=64),
        "partial",
        ("tl.store(partial", "tl.load(partial"),
        ("store", "load"),
    ),
    "no lock": (
        kernels.layer_norm_gradients_without_lock,
        lambda k: k[(6,)](floats(6, 48), floats(6, 48), floats(2, 48), zeros(4), 6, 48, 48, GROUPS=2, BLOCK=64),
        "dw",
        ("tl.store(own", "tl.load(own"),
        ("store", "load"),
    ),
    "boxes": (
        kernels.overlapping_boxes,
        lambda k: k[(2,)](boxes(64, 32), STEP=24, M=32, N=32),
        "desc",
        ("desc.store", "desc.store"),
        ("store", "store"),
    ),
    "boxes that are loaded": (
        kernels.loads_a_box_of_another,
        lambda k: k[(2,)](boxes(64, 32), M=32, N=32),
        "desc",
        ("desc.store", "desc.load"),
        ("store", "load"),
    ),
    "split-K": (
        kernels.split_k,
        lambda k: k[(2,)](floats(16, 64), floats(64, 16), floats(16, 16), M=16, N=16, K=32, ATOMIC=False),
        "c",
        ("tl.store(place", "tl.load(place"),
        ("store", "load"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RACES)
@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_race_between_programs(target: str, name: str) -> None:
    kernel, launch, array, texts, kinds = RACES[name]
    with watched(target), pytest.raises(DataRace) as caught:
        launch(kernel)
    error = pickle.loads(pickle.dumps(caught.value))
    assert array in error.array
    assert error.kernel == kernel.__name__
    first, second = error.accesses
    assert [first.location.line, second.location.line] == [line(kernel, text) for text in texts]
    assert (first.kind, second.kind) == kinds
    assert first.program != second.program
    assert error.location == second.location
    assert f":{first.location.line}:" in str(error)
    assert "atomic" in error.remedy


def test_the_message() -> None:
    with tri.interpret(), pytest.raises(DataRace) as caught:
        kernels.one_cell[(4,)](ints(256), zeros(1), 256, BLOCK=64)
    place = f"{kernels.__file__}:{line(kernels.one_cell, 'tl.store(out')}:5"
    assert str(caught.value) == (
        "one_cell, program (1, 0, 0): data race on element 0 of 'out', which has 1 (i32, shape (1,)): "
        f"this store and what program (0, 0, 0) stored at {place} are not ordered\n"
        f"  at {place}\n"
        "        tl.store(out, tl.sum(tl.load(x + i, mask=i < n, other=0)))\n        ^\n"
        "  remedy: update the element with an atomic (tl.atomic_add, tl.atomic_max, ...), have one program own it, or "
        "order the programs with an atomic that releases after the one access and one that acquires before the other"
    )


NO_RACES: dict[str, Callable[[], object]] = {
    "histogram": lambda: kernels.histogram_with_atomics[(4,)](ints(256, most=8), zeros(8), 256, BLOCK=64),
    "tail": lambda: kernels.overlapping_tail[(4,)](ints(256), zeros(256), 256, BLOCK=64, STEP=64),
    "one cell": lambda: kernels.one_cell_with_atomics[(4,)](ints(256), zeros(1), 256, BLOCK=64),
    "message": lambda: kernels.message[(2,)](zeros(1), zeros(1), zeros(1), SEM="release"),
    "last one": lambda: kernels.last_one_sums[(4,)](
        ints(256), zeros(4), zeros(1), zeros(1), 256, PROGRAMS=4, BLOCK=64
    ),
    "spin lock": lambda: kernels.layer_norm_gradients[(6,)](
        floats(6, 48), floats(6, 48), floats(2, 48), zeros(4), 6, 48, 48, GROUPS=2, BLOCK=64
    ),
    "split-K": lambda: kernels.split_k[(2,)](
        floats(16, 64), floats(64, 16), floats(16, 16), M=16, N=16, K=32, ATOMIC=True
    ),
    "split-K with locks": lambda: kernels.split_k_with_locks[(3,)](
        floats(16, 96), floats(96, 16), floats(16, 16), zeros(1), M=16, N=16, K=32
    ),
    "boxes": lambda: kernels.overlapping_boxes[(2,)](boxes(64, 32), STEP=32, M=32, N=32),
    "boxes that are added": lambda: kernels.adds_boxes[(3,)](boxes(32, 32), M=32, N=32),
    "same value": lambda: kernels.same_value_twice[(4,)](zeros(32), BLOCK=64),
    "flag": lambda: kernels.all_say_so[(4,)](zeros(1)),
}


@pytest.mark.parametrize("name", NO_RACES)
@pytest.mark.parametrize("target", EVERYWHERE)
def test_what_is_no_race(target: str, name: str) -> None:
    with watched(target):
        NO_RACES[name]()


@pytest.mark.parametrize("target", SIMULATED)
def test_a_flag_that_is_stored_plainly(target: str) -> None:
    with watched(target), pytest.raises(DataRace):
        kernels.plain_flag[(2,)](zeros(1), zeros(1), zeros(1))


@pytest.mark.parametrize("target", EVERYWHERE)
def test_lanes_of_one_store(target: str) -> None:
    with watched(target), pytest.raises(DataRace, match="data race on element") as caught:
        kernels.same_store_twice[(1,)](zeros(128), BLOCK=256)
    first, second = caught.value.accesses
    assert (first.kind, second.kind, first.program) == ("store", "store", second.program)


@pytest.mark.parametrize("kernel", ["shifts", "overtakes"])
@pytest.mark.parametrize("target", SIMULATED)
def test_a_barrier_between_threads(target: str, kernel: str) -> None:
    function = getattr(kernels, kernel)
    arrays = [ints(256) for _ in range(2 if kernel == "shifts" else 1)]
    arrays.append(arrays[-1])
    with watched(target):
        function[(1,)](*arrays, BLOCK=256, BARRIER=True)
        with pytest.raises(DataRace, match="a barrier is missing") as caught:
            function[(1,)](*arrays, BLOCK=256, BARRIER=False)
    assert isinstance(caught.value, SimulationError)
    first, second = caught.value.accesses
    assert first.thread != second.thread
    assert {first.kind, second.kind} == {"load", "store"}


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("target", SIMULATED)
def test_memory_of_one_name_needs_no_barrier_of_the_program(target: str, warps: int) -> None:
    """Threads wait for each other where a program reads back what it stored."""
    x, out = ints(256), zeros(256)
    expected = x + 3
    with watched(target):
        kernels.shifts_alone[(1,)](x, out, BLOCK=256, num_warps=warps)
    assert (x == expected).all()


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("target", SIMULATED)
def test_elements_that_several_threads_hold_are_changed_in_place(target: str, warps: int) -> None:
    """Only the owner of an element loads it: no thread reads what another writes, and no barrier is needed."""
    x, factor, word = ints(100), ints(1), zeros(1)
    expected = x * factor
    with watched(target):
        found = kernels.rows_in_place[(1,)](x, factor, 100, BLOCK=16, num_warps=warps)
        kernels.counts_itself[(1,)](word, num_warps=warps)
    assert (x == expected).all()
    assert word[0] == 4
    assert "ttg.barrier" not in found.asm["ttgir"]


def test_nobody_looks_unless_asked() -> None:
    """Off: in the interpreter by argument or knob, in the simulator by default."""
    launch = RACES["one cell"][1]
    with tri.interpret(races=False):
        launch(kernels.one_cell)
    with knobs.scope(INTERPRET_RACES=False), tri.interpret():
        launch(kernels.one_cell)
    with tri.target("sim:nvidia:sm_80"), tri.simulation(report=False):
        launch(kernels.one_cell)
