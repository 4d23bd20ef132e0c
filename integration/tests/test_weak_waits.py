"""Loops that wait by plain loads: a warning while they are compiled, an error where they are interpreted and nobody comes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.interpreter import KernelDeadlock, turns
from tri_core.errors import SimulationError
from tri_core.notices import WeakWaitWarning


@tri.jit
def wait(flag: Any) -> None:
    while tl.load(flag) == 0:
        pass


@tri.jit
def waits_in_a_function(flag: Any, out: Any) -> None:
    wait(flag)
    tl.store(out, 1)


@tri.jit
def waits_for_a_tile(flag: Any, out: Any) -> None:
    while tl.max(tl.load(flag + tl.arange(0, 8)), 0) == 0:
        pass
    tl.store(out, 1)


@tri.jit
def waits_and_counts(flag: Any, out: Any) -> None:
    seen = tl.load(flag)
    turns: Any = 0
    while seen == 0:
        seen = tl.load(flag)
        turns += 1
    tl.store(out, turns)


@tri.jit
def waits_by_volatile_loads(flag: Any, out: Any) -> None:
    while tl.load(flag, volatile=True) == 0:
        pass


@tri.jit
def waits_by_atomics(flag: Any, out: Any) -> None:
    while tl.atomic_add(flag, 0, sem="acquire") == 0:
        pass


@tri.jit
def measures(text: Any, out: Any) -> None:
    n = 0
    while tl.load(text + n) != 0:
        n += 1
    tl.store(out, n)


@tri.jit
def counts_up_to(limit: Any, out: Any) -> None:
    n = 0
    while n < tl.load(limit):
        n += 1
    tl.store(out, n)


@tri.jit
def counts_in_memory(x: Any, out: Any) -> None:
    while tl.load(x) < 10:
        tl.store(x, tl.load(x) + 1)
        tl.debug_barrier()


@tri.jit
def sums_one_word(x: Any, out: Any, n: Any) -> None:
    total: Any = 0
    for _ in range(n):
        total += tl.load(x)
    tl.store(out, total)


@tri.jit
def gets(x: Any) -> Any:
    return tl.load(x)


@tri.jit
def sums_by_a_function(x: Any, out: Any, n: Any) -> None:
    total: Any = 0
    for _ in range(n):
        total += gets(x)
    tl.store(out, total)


@tri.jit
def counts_its_polls(flag: Any, out: Any) -> None:
    turns: Any = 0
    while tl.load(flag, volatile=True) == 0:
        turns += 1
    tl.store(out, turns)


@tri.jit
def counts_in_each_turn(flag: Any, out: Any) -> None:
    turns: Any = 0
    for t in range(3):
        while tl.load(flag) == 0:
            turns += 1
        tl.store(out + t, turns)


@tri.jit
def retries(flag: Any, out: Any) -> None:
    turns: Any = 0
    while (tl.load(flag, volatile=True) == 0) & (turns < 3000):
        turns += 1
    tl.store(out, turns)


@tri.jit
def retries_by_plain_loads(flag: Any, out: Any) -> None:
    turns: Any = 0
    while (tl.load(flag) == 0) & (turns < 9000):
        turns += 1
    tl.store(out, turns)


@tri.jit
def counts_for_an_outer_loop(flag: Any, out: Any) -> None:
    turns: Any = 0
    while turns < 5000:
        k: Any = 0
        while k < 1:
            k += tl.load(flag) + 1
            turns += 1
    tl.store(out, turns)


@tri.jit
def waits_for_the_next(flag: Any, out: Any) -> None:
    if tl.program_id(0) == 0:
        while tl.load(flag) == 0:
            pass
        tl.store(out, 1)
    else:
        tl.store(flag, 1)


def _compiled(kernel: Any) -> list[str]:
    """The warnings of a compile."""
    with warnings.catch_warnings(record=True) as caught, tri.target("cpu"):
        warnings.simplefilter("always")
        tri.jit(kernel.fn).warmup(np.zeros(8, np.int32), np.zeros(8, np.int32), grid=(1,))
    return [str(w.message) for w in caught if issubclass(w.category, WeakWaitWarning)]


@pytest.fixture(autouse=True)
def _compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRI_ALWAYS_COMPILE", "1")


@pytest.mark.parametrize(
    "kernel", [waits_in_a_function, waits_for_a_tile, waits_and_counts], ids=lambda k: k.fn.__name__
)
def test_a_wait_by_weak_loads_is_told(kernel: Any) -> None:
    (text,) = _compiled(kernel)
    assert "test_weak_waits.py:" in text
    assert "volatile=True" in text


@pytest.mark.parametrize(
    "kernel",
    [waits_by_volatile_loads, waits_by_atomics, measures, counts_up_to, counts_in_memory],
    ids=lambda k: k.fn.__name__,
)
def test_other_loops_are_not(kernel: Any) -> None:
    assert not _compiled(kernel)


@pytest.mark.parametrize(
    "kernel",
    [waits_in_a_function, waits_for_a_tile, waits_and_counts, counts_in_each_turn],
    ids=lambda k: k.fn.__name__,
)
def test_who_waits_for_nobody_is_an_error(kernel: Any) -> None:
    with tri.interpret(), pytest.raises(KernelDeadlock) as caught:
        kernel[(2,)](np.zeros(8, np.int32), np.zeros(1, np.int32))
    assert "by plain loads" in caught.value.message
    assert "element 0 of 'flag', which holds 0x0" in caught.value.message
    assert caught.value.location is not None
    assert "volatile" in (caught.value.remedy or "")


def test_who_waits_for_a_later_program_lets_it_run() -> None:
    out = np.zeros(1, np.int32)
    with tri.interpret(races=False):
        waits_for_the_next[(2,)](np.zeros(1, np.int32), out)
    assert out[0] == 1


@pytest.mark.parametrize("kernel", [sums_one_word, sums_by_a_function], ids=lambda k: k.fn.__name__)
def test_a_long_loop_is_no_wait(kernel: Any) -> None:
    out = np.zeros(1, np.int32)
    with tri.interpret():
        kernel[(1,)](np.ones(1, np.int32), out, 6000)
    assert out[0] == 6000


def test_who_counts_its_polls_waits() -> None:
    with tri.interpret(), pytest.raises(KernelDeadlock, match=r"element 0 of 'flag'.*asked 512 times"):
        counts_its_polls[(2,)](np.zeros(1, np.int32), np.zeros(1, np.int32))


_WAITING = [waits_and_counts, counts_its_polls, counts_in_each_turn]
_ENDING = [(retries, 3000), (retries_by_plain_loads, 9000), (counts_for_an_outer_loop, 5000)]


@pytest.mark.parametrize(
    ("kernel", "turns"), _ENDING, ids=lambda k: k.fn.__name__ if hasattr(k, "fn") else ""
)
@pytest.mark.parametrize("schedule", ["interpreter", None, 1])
def test_a_loop_that_gives_up_is_no_deadlock(kernel: Any, turns: int, schedule: int | str | None) -> None:
    out = np.zeros(1, np.int32)
    if isinstance(schedule, str):
        with tri.interpret():
            kernel[(1,)](np.zeros(1, np.int32), out)
    else:
        with tri.target("sim:nvidia:sm_80"), tri.simulation(report=False, schedule=schedule):
            kernel[(1,)](np.zeros(1, np.int32), out, num_warps=1)
    assert out[0] == turns


@pytest.mark.filterwarnings("ignore::tri_core.notices.WeakWaitWarning")
@pytest.mark.parametrize("kernel", _WAITING, ids=lambda k: k.fn.__name__)
@pytest.mark.parametrize("target", ["sim:nvidia:sm_80", "sim:amd:gfx942", "sim:intel:pvc"])
@pytest.mark.parametrize("schedule", [None, 0, 1])
def test_simulated_programs_that_count_wait(kernel: Any, target: str, schedule: int | None) -> None:
    memory: Any = "strong" if schedule is None else "weak"
    with (
        tri.target(target),
        tri.simulation(report=False, memory=memory, schedule=schedule),
        pytest.raises(SimulationError) as caught,
    ):
        kernel[(2,)](np.zeros(3, np.int32), np.zeros(3, np.int32), num_warps=2)
    assert caught.value.check == "deadlock"
    assert caught.value.message.count("byte 0 of array 'flag'") == 2
    assert caught.value.message.count("test_weak_waits.py:") >= 2


@tri.jit
def looks_elsewhere_at_times(flag: Any, other: Any, out: Any) -> None:
    turns: Any = 0
    seen: Any = 0
    if tl.program_id(0) == 0:
        while tl.load(flag) == 0:
            turns += 1
            if turns % 1024 == 0:
                seen = tl.load(other)
        tl.store(out, seen + 1)
    else:
        tl.store(flag, 1)


@pytest.mark.filterwarnings("ignore::tri_core.notices.WeakWaitWarning")
def test_a_wait_that_decides_by_its_turns_lets_others_run(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "_MOST_RETRIES", 1 << 13)
    out = np.zeros(1, np.int32)
    with tri.interpret(races=False):
        looks_elsewhere_at_times[(2,)](np.zeros(1, np.int32), np.full(1, 6, np.int32), out)
    assert out[0] == 7
    [record] = caplog.records
    assert "program (0, 0, 0) has loaded element 0 of 'flag'" in record.getMessage()
    assert "8192 times" in record.getMessage()
    assert "test_weak_waits.py:" in record.getMessage()
