"""Litmus programs in the simulator's weak memory: what fences forbid is never seen, what nothing forbids is seen under some seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.interpreter import KernelError
from tri_core.errors import SimulationError

_TARGETS = ("sim:nvidia:sm_90a", "sim:amd:gfx942")
_SEEDS = range(24)
#: elements between two words that share no line
_APART = tl.constexpr(64)


@tri.jit
def message_passing(m: Any, out: Any, SEM: tl.constexpr, SEEN: tl.constexpr) -> None:
    x, flag = m, m + _APART
    if tl.program_id(0) == 0:
        tl.store(x, 1)
        tl.atomic_xchg(flag, 1, sem=SEM)
    else:
        before = tl.load(x)
        seen = tl.atomic_add(flag, 0, sem=SEEN)
        tl.store(out, seen)
        tl.store(out + 1, tl.load(x))
        tl.store(out + 2, before)


@tri.jit
def store_buffering(m: Any, out: Any, FENCED: tl.constexpr) -> None:
    pid = tl.program_id(0)
    tl.store(m + pid * _APART, 1)
    if FENCED:
        tl.atomic_add(m + 2 * _APART, 1, sem="acq_rel")
    tl.store(out + pid * _APART, tl.load(m + (1 - pid) * _APART))


@tri.jit
def load_buffering(m: Any, out: Any) -> None:
    pid = tl.program_id(0)
    seen = tl.load(m + pid * _APART)
    tl.store(m + (1 - pid) * _APART, 1)
    tl.store(out + pid * _APART, seen)


@tri.jit
def independent_reads(m: Any, out: Any, FENCED: tl.constexpr) -> None:
    pid = tl.program_id(0)
    if pid < 2:
        tl.store(m + pid * _APART, 1)
    else:
        again = tl.load(m + (3 - pid) * _APART)
        if FENCED:
            first = tl.atomic_add(m + (pid - 2) * _APART, 0, sem="acquire")
            second = tl.atomic_add(m + (3 - pid) * _APART, 0, sem="acquire")
        else:
            first = tl.load(m + (pid - 2) * _APART)
            second = tl.load(m + (3 - pid) * _APART)
        tl.store(out + pid * _APART, first)
        tl.store(out + pid * _APART + 1, second + 0 * again)


@tri.jit
def coherence(m: Any, out: Any, N: tl.constexpr) -> None:
    if tl.program_id(0) == 0:
        for i in range(1, N):
            tl.store(m, i)
    else:
        for i in range(N):
            tl.store(out + i, tl.load(m))
            tl.atomic_add(m + _APART, 1, sem="acq_rel")


def _outcomes(kernel: Any, target: str, programs: int, show: Any, **options: Any) -> set[Any]:
    """Results of ``show`` for the output under each seed."""
    found = set()
    for seed in _SEEDS:
        memory, out = np.zeros(256, np.int32), np.full(512, -1, np.int32)
        with tri.target(target), tri.simulation(report=False, memory="weak", schedule=seed):
            kernel[(programs,)](memory, out, num_warps=1, **options)
        found.add(show(out))
    return found


def _first_two(out: Any) -> tuple[int, ...]:
    return tuple(out[:2].tolist())


def _of_both(out: Any) -> tuple[int, ...]:
    return int(out[0]), int(out[64])


def _of_readers(out: Any) -> tuple[int, ...]:
    return (*out[128:130].tolist(), *out[192:194].tolist())


@pytest.mark.parametrize("target", _TARGETS)
def test_message_passing(target: str) -> None:
    right = _outcomes(message_passing, target, 2, _first_two, SEM="release", SEEN="acquire")
    assert right == {(0, 0), (0, 1), (1, 1)} or right == {(0, 0), (1, 1)}
    assert (1, 0) in _outcomes(message_passing, target, 2, _first_two, SEM="relaxed", SEEN="acquire")
    assert (1, 0) in _outcomes(message_passing, target, 2, _first_two, SEM="release", SEEN="relaxed")


@pytest.mark.parametrize("target", _TARGETS)
def test_store_buffering(target: str) -> None:
    assert (0, 0) not in _outcomes(store_buffering, target, 2, _of_both, FENCED=True)
    assert (0, 0) in _outcomes(store_buffering, target, 2, _of_both, FENCED=False)


@pytest.mark.parametrize("target", _TARGETS)
def test_load_buffering_is_not_shown(target: str) -> None:
    """The models allow it; the simulator runs a program's accesses in their order."""
    assert (1, 1) not in _outcomes(load_buffering, target, 2, _of_both)


@pytest.mark.parametrize("target", _TARGETS)
def test_independent_reads_of_independent_writes(target: str) -> None:
    assert (1, 0, 1, 0) not in _outcomes(independent_reads, target, 4, _of_readers, FENCED=True)
    assert (1, 0, 1, 0) in _outcomes(independent_reads, target, 4, _of_readers, FENCED=False)


@pytest.mark.parametrize("target", _TARGETS)
def test_coherence(target: str) -> None:
    """A word never goes back, in any order and with any fences."""
    for seen in _outcomes(coherence, target, 2, lambda out: tuple(out[:8].tolist()), N=8):
        assert list(seen) == sorted(seen)


@tri.jit
def waits_weakly(flag: Any, out: Any) -> None:
    if tl.program_id(0) == 1:
        tl.store(flag, 1)
    else:
        seen = tl.load(flag)
        spins = 0
        while seen == 0:
            seen = tl.load(flag)
            spins += 1
        tl.store(out, spins)


@tri.jit
def dead(flag: Any, out: Any) -> None:
    pid = tl.program_id(0)
    spins = 0
    while tl.load(flag + pid, volatile=True) == 0:
        spins += 1  # no state comes twice
    tl.store(out + pid, spins)
    tl.atomic_xchg(flag + 1 - pid, 1, sem="release")


def test_a_wait_by_weak_loads_alone_is_an_error() -> None:
    found = []
    for seed in range(6):
        try:
            with tri.target("sim:nvidia:sm_90a"), tri.simulation(report=False, memory="weak", schedule=seed):
                waits_weakly[(2,)](np.zeros(1, np.int32), np.zeros(1, np.int32), num_warps=1)
        except SimulationError as error:
            found.append(error)
    assert found
    assert {error.check for error in found} == {"weak-wait"}
    assert all("cache" in error.message and "volatile" in (error.remedy or "") for error in found)
    assert all(error.location is not None and error.location.line > 100 for error in found)


@pytest.mark.parametrize("schedule", [None, 0, 1, 2])
def test_a_deadlock_says_who_waits_for_what(schedule: int | None) -> None:
    with (
        tri.target("sim:nvidia:sm_90a"),
        tri.simulation(report=False, schedule=schedule),
        pytest.raises(SimulationError, match="what they wait for never comes") as caught,
    ):
        dead[(2,)](np.zeros(2, np.int32), np.zeros(2, np.int32), num_warps=1)
    assert caught.value.check == "deadlock"
    for program, byte in ((0, 0), (1, 4)):
        text = f"program ({program}, 0, 0) waits at"
        assert text in caught.value.message
        assert f"for byte {byte} of array 'flag'" in caught.value.message


def test_a_deadlock_of_interpreted_programs_says_who_waits_for_what() -> None:
    with (
        tri.interpret(),
        pytest.raises(KernelError, match="what all programs wait for never comes") as caught,
    ):
        dead[(2,)](np.zeros(2, np.int32), np.zeros(2, np.int32))
    for program in range(2):
        assert f"program ({program}, 0, 0) waits at" in caught.value.message
        assert f"for element {program} of 'flag', which holds 0x0 (load)" in caught.value.message


def test_interpreted_programs_wait_for_later_ones() -> None:
    out = np.zeros(1, np.int32)
    with tri.interpret(races=False):
        reported[(40,)](np.zeros(1, np.int32), out)
    assert out[0] == 1


@tri.jit
def reported(flag: Any, out: Any) -> None:
    if tl.program_id(0) == 0:
        while tl.load(flag, volatile=True) == 0:
            pass
        tl.store(out, 1)
    elif tl.program_id(0) == tl.num_programs(0) - 1:
        tl.store(flag, 1)


@pytest.mark.parametrize("schedule", [None, *range(9)])
def test_a_program_may_wait_for_one_that_begins_late(schedule: int | None) -> None:
    """A store that nothing releases is seen in the end; so is the last of more programs than begin together."""
    out = np.zeros(1, np.int32)
    with tri.target("sim:nvidia:sm_90a"), tri.simulation(report=False, memory="weak", schedule=schedule):
        reported[(40,)](np.zeros(1, np.int32), out, num_warps=1)
    assert out[0] == 1


def test_a_seed_is_an_order() -> None:
    def run(seed: int) -> list[int]:
        memory, out = np.zeros(256, np.int32), np.full(512, -1, np.int32)
        with tri.target("sim:nvidia:sm_90a"), tri.simulation(report=False, memory="weak", schedule=seed):
            independent_reads[(4,)](memory, out, FENCED=False, num_warps=1)
        return out.tolist()

    assert [run(seed) for seed in range(8)] == [run(seed) for seed in range(8)]
