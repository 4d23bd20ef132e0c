"""Whether threads come to the end in other orders than the simulator's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core.errors import SimulationError
from tri_runtime.simulator import Scene
from tri_runtime.simulator.progress import check_progress
from tri_runtime.simulator.trace import Barrier, Trace

LANES = 4


@dataclass
class Play:
    """A trace of ``warps`` warps, written by hand."""

    warps: int = 3
    trace: Trace = field(default_factory=lambda: Trace(LANES))

    def threads(self, *warps: int, lane: int | None = None) -> npt.NDArray[np.bool_]:
        found = np.zeros((self.warps, LANES), np.bool_)
        found[list(warps), slice(None) if lane is None else lane] = True
        return found.reshape(-1)

    def synchronize(self, name: int, *warps: int, count: int | None = None, waits: bool = True) -> None:
        barrier, number = Barrier("named", 0, name), count or LANES * len(warps)
        if waits:
            self.trace.synchronize(barrier, self.threads(*warps), number, site=-1)
        else:
            self.trace.add("join", barrier, self.threads(*warps), number, site=-1)

    def start(self, address: int, count: int) -> None:
        """By the first thread; then all know."""
        barrier = Barrier("memory", 0, address)
        self.trace.add("start", barrier, self.threads(0, lane=0), count, site=-1)

    def signal(self, address: int, warp: int, nbytes: int = 0) -> None:
        """One lane of ``warp`` arrives, and copies ``nbytes`` that it expects."""
        barrier, lane = Barrier("memory", 0, address), self.threads(warp, lane=0)
        self.trace.add("arrive", barrier, lane, 1, nbytes, site=-1)
        if nbytes:
            self.trace.add("copy", barrier, lane, nbytes=nbytes, site=-1)

    def wait(self, address: int, parity: int, *warps: int, lane: int | None = None) -> None:
        self.trace.add(
            "wait", Barrier("memory", 0, address), self.threads(*warps, lane=lane), parity, site=-1
        )

    def check(self) -> None:
        check_progress(self.trace, Scene())

    def refused(self, match: str) -> SimulationError:
        with pytest.raises(SimulationError, match=match) as caught:
            self.check()
        assert caught.value.check == "deadlock"
        return caught.value


def test_nothing_happens() -> None:
    Play().check()


def test_all_meet() -> None:
    play = Play()
    for _ in range(3):
        play.synchronize(0, 0, 1, 2)
    assert len(play.trace.acts) == 2, "who comes to a barrier twice in a row comes once"
    play.check()


def test_warps_that_meet_in_different_orders() -> None:
    """In step, as the simulator has it, warps 0 and 1 pass both; each waits for the other on hardware."""
    play = Play()
    play.synchronize(1, 0, count=2 * LANES)
    play.synchronize(2, 1, count=2 * LANES)
    play.synchronize(2, 0, count=2 * LANES)
    play.synchronize(1, 1, count=2 * LANES)
    error = play.refused("deadlock: threads 0-3 wait for barrier 1, where 4 of 8 threads are")
    assert "threads 4-7 wait for barrier 2, where 4 of 8 threads are" in error.message
    assert error.thread == 0


def test_an_arrival_that_nobody_waits_for_in_time() -> None:
    """Warp 0 comes twice while warp 1, which is to wait, has not come once."""
    play = Play()
    for _ in range(2):
        play.synchronize(1, 0, count=2 * LANES, waits=False)
        play.synchronize(1, 1, count=2 * LANES)
    play.refused("where threads 4-7 are late: threads 0-3 come to barrier 1 again before it was passed")


def ring(stages: int, steps: int, *, released: bool = True, readers: Sequence[int] = (0, 1)) -> Play:
    """Warp 2 fills ``stages``, which ``readers`` read and release: barriers ``8 s`` (full) and ``1000 + 8 s`` (empty)."""
    play = Play()
    for stage in range(stages):
        play.start(8 * stage, 1)
        play.start(1000 + 8 * stage, len(readers))
    play.synchronize(0, 0, 1, 2)
    for step in range(steps):
        iteration, stage = divmod(step, stages)
        if released and iteration:
            play.wait(1000 + 8 * stage, (iteration - 1) % 2, 2, lane=0)
        play.signal(8 * stage, 2, nbytes=64)
        for reader in readers:
            play.wait(8 * stage, iteration % 2, reader)
        for reader in readers:
            play.signal(1000 + 8 * stage, reader)
    return play


@given(stages=st.integers(1, 4), steps=st.integers(0, 12))
def test_a_ring_whose_slots_are_given_back(stages: int, steps: int) -> None:
    ring(stages, steps).check()


def test_a_ring_that_does_not_wait_for_its_slots() -> None:
    """The producer passes the ring twice while a reader is late, who then sees the parity that it has waited for gone."""
    ring(2, 2, released=False).check()
    ring(2, 6, released=False).refused("threads 0-3 wait for the barrier at 0x0 .phase 3, 0 of 1 arrivals")


def test_a_slot_that_one_of_its_readers_gives_back_for_both() -> None:
    """One arrives for each of two readers, so the other may be late."""
    play = ring(1, 0)
    play.trace.add("start", Barrier("memory", 0, 500), play.threads(0, lane=0), 1, site=-1)
    play.synchronize(0, 0, 1, 2)
    for iteration in range(4):
        if iteration:
            play.wait(500, (iteration - 1) % 2, 2, lane=0)
        play.signal(0, 2, nbytes=64)
        play.wait(0, iteration % 2, 0, 1)
        play.signal(500, 0)
    play.refused("deadlock where threads 4-7 are late: threads 4-7 wait for the barrier at 0x0")


def test_an_arrival_before_the_phase_is_complete() -> None:
    """Warp 0 expects bytes that warp 1 brings, and arrives for the next phase before they have come."""
    play, barrier = Play(), Barrier("memory", 0, 0)
    play.start(0, 1)
    play.synchronize(0, 0, 1, 2)
    for _ in range(2):
        play.trace.add("arrive", barrier, play.threads(0, lane=0), 1, 64, site=-1)
        play.trace.add("copy", barrier, play.threads(1, lane=0), nbytes=64, site=-1)
    play.refused("2 threads arrive at the barrier at 0x0, which is for 1, in one phase")


def two_sides(*, at_once: bool) -> Play:
    """Warp 0, and warps 1 and 2, free the stages of both sides: lane 0 arrives at the barrier of the one, lane 1 at that of the other."""
    play, sides = Play(), {0: (0,), 1: (1, 2)}
    for side in sides:
        play.trace.add("start", Barrier("memory", side, 0), play.threads(0, lane=0), 3, site=-1)
    play.synchronize(0, 0, 1, 2)
    for iteration in range(2):
        for side, warps in sides.items():
            if iteration:
                play.trace.add("wait", Barrier("memory", side, 0), play.threads(*warps), 0, site=-1)
            with play.trace.at_once() if at_once else nullcontext():
                for lane in (0, 1):
                    threads = play.threads(*warps, lane=lane)
                    play.trace.add("arrive", Barrier("memory", lane, 0), threads, len(warps), site=-1)
    return play


def test_lanes_that_arrive_at_two_barriers() -> None:
    """By one op; else the second side could be a phase ahead of the first lane."""
    two_sides(at_once=True).check()
    two_sides(at_once=False).refused("4 threads arrive at the barrier at 0x0, which is for 3")


def test_lanes_that_part_and_meet_again() -> None:
    """One lane of warp 2 fills a ring while the others wait for it where all synchronise."""
    play = ring(2, 5)
    play.synchronize(0, 0, 1, 2)
    play.check()


def test_a_cluster_does_not_wait_for_who_has_left() -> None:
    play, barrier = Play(), Barrier("cluster")
    for what in ("join", "pass"):
        play.trace.add(what, barrier, play.threads(0, 1), site=-1)
    play.check()


def test_a_cluster_waits_for_who_is_still_there() -> None:
    play, barrier = Play(), Barrier("cluster")
    for what in ("join", "pass"):
        play.trace.add(what, barrier, play.threads(0, 1), site=-1)
    play.synchronize(1, 0, 2)
    play.synchronize(2, 2, count=2 * LANES)
    play.refused(
        "threads 0-7 wait for the barrier of the cluster, where 8 of 12 threads are; threads 8-11 wait"
    )


# --- all orders -------------------------------------------------------------------------------------------

#: by warp: (barrier, whether it waits there)
Programs = Sequence[Sequence[tuple[int, bool]]]


def outcomes(programs: Programs, counts: Sequence[int]) -> Iterator[bool]:
    """Of every order of the warps' acts whether all come to the end."""
    steps = [
        [(b, join) for b, waits in p for join in ((True, False) if waits else (True,))] for p in programs
    ]
    todo = [((0,) * len(steps), (frozenset[int](),) * len(counts))]
    seen = set(todo)
    while todo:
        at, come = todo.pop()
        following = []
        for warp, mine in enumerate(steps):
            if at[warp] == len(mine):
                continue
            barrier, join = mine[at[warp]]
            if not join and warp in come[barrier]:
                continue
            if join and warp in come[barrier]:
                yield False
                continue
            there = come[barrier] | {warp} if join else come[barrier]
            there = frozenset[int]() if join and len(there) == counts[barrier] else there
            now = tuple(n + (w == warp) for w, n in enumerate(at))
            following.append((now, (*come[:barrier], there, *come[barrier + 1 :])))
        if not following:
            yield all(n == len(mine) for n, mine in zip(at, steps, strict=True))
        todo += [state for state in following if state not in seen]
        seen.update(following)


def played(programs: Programs, counts: Sequence[int]) -> Play:
    play = Play(len(programs))
    for warp, mine in enumerate(programs):
        for barrier, waits in mine:
            play.synchronize(barrier, warp, count=LANES * counts[barrier], waits=waits)
    return play


def found(programs: Programs, counts: Sequence[int]) -> bool:
    try:
        played(programs, counts).check()
    except SimulationError:
        return True
    return False


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 1), st.booleans()), max_size=4), min_size=2, max_size=3),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
)
def test_what_is_found_can_happen(programs, counts) -> None:
    if found(programs, counts):
        assert not all(outcomes(programs, counts))


@given(st.lists(st.lists(st.tuples(st.integers(0, 1), st.booleans()), max_size=4), min_size=2, max_size=3))
def test_what_can_happen_is_found(programs) -> None:
    """Where a barrier is for all that ever come to it."""
    counts = [max(1, sum(any(b == barrier for b, _ in p) for p in programs)) for barrier in range(2)]
    assert found(programs, counts) == (not all(outcomes(programs, counts)))
