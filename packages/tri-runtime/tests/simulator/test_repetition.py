"""Which values a loop decides by, and when threads only repeat themselves."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from tri_runtime.simulator.repetition import Flow, Repetition
from tri_runtime.simulator.warps import WarpOrder

ENTRY, LOOP, END = 0, 1, 2
POINTER, ZERO, COUNT, WORD, NEXT, STOPS = range(6)


def flow(*, by_count: bool) -> Flow:
    """``while load(pointer) == 0: count += 1``; the condition may look at the count, too."""
    made = Flow()
    made.goes(ENTRY, [], LOOP, [(COUNT, ZERO)])
    made.acts(LOOP, [POINTER], [WORD])
    made.computes(LOOP, [COUNT], [NEXT])
    made.computes(LOOP, [WORD, NEXT] if by_count else [WORD], [STOPS])
    made.goes(LOOP, [STOPS], LOOP, [(COUNT, NEXT)])
    made.goes(LOOP, [STOPS], END, [])
    made.acts(END, [POINTER, COUNT], [])
    return made


@dataclass
class Threads:
    """Two threads in the loop, each a warp."""

    place: Any
    values: list[Any]


def repeats(*, by_count: bool, changes: int = 0) -> list[bool]:
    """Whether the second of two looks each finds the threads where they were."""
    look = Repetition(flow(by_count=by_count), 1)
    found = []
    for turn in range(4):
        values = [np.full(2, value) for value in (4096, 0, turn, 0, turn + 1, 0)]
        threads = Threads(np.full(2, LOOP), values)
        found.append(look.look(threads, changes * turn))
        look.visited.add(LOOP)
    return found


def test_what_decides() -> None:
    assert flow(by_count=False).deciding(frozenset({LOOP})) == (WORD, STOPS)
    assert flow(by_count=True).deciding(frozenset({LOOP})) == (COUNT, WORD, NEXT, STOPS)
    assert COUNT in flow(by_count=False).deciding(frozenset({LOOP, END}))


def test_a_count_that_decides_nothing_is_no_progress() -> None:
    assert repeats(by_count=False) == [False, False, True, True]


def test_a_count_that_decides_is_progress() -> None:
    assert not any(repeats(by_count=True))


def test_a_change_of_memory_is_progress() -> None:
    assert not any(repeats(by_count=False, changes=1))


def test_no_warp_is_passed_over_forever() -> None:
    for policy in ("first", "last", "random", "one late"):
        order = WarpOrder(1, frozenset(), policy, Random(0))
        places = np.zeros(3, np.int64)
        ran = {int(np.flatnonzero(order.next(places, 1 << 62)[1])[0]) for _ in range(3000)}
        assert ran == {0, 1, 2}, policy
