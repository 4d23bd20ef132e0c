"""Shadow memory and happens-before against an oracle: all accesses kept, every pair compared."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_runtime.races import Order, Semantics, Shadow, unchanged

CELLS = 6


@dataclass(frozen=True)
class Act:
    """What a program does: ``kind`` (load, store, atomic or fence) on ``cells`` with ``value``; an atomic's or a fence's order."""

    program: int
    kind: str
    cells: tuple[int, ...]
    value: int = 0
    order: str = "relaxed"


@dataclass
class Oracle:
    """Events with the set of events that happen before them, and every race found by comparing all pairs."""

    memory: list[int] = field(default_factory=lambda: [0] * CELLS)
    events: list[tuple[Act, int, str]] = field(default_factory=list)
    past: dict[int, set[int]] = field(default_factory=dict)
    left: dict[int, set[int]] = field(default_factory=dict)
    seen: dict[int, set[int]] = field(default_factory=dict)
    fenced: dict[int, set[int]] = field(default_factory=dict)

    def act(self, act: Act) -> bool:
        """Whether ``act`` races with an earlier event."""
        past = self.past.setdefault(act.program, set())
        if act.kind == "fence":
            if act.order != "release":
                past |= self.seen.get(act.program, set())
            if act.order != "acquire":
                self.fenced[act.program] = set(past)
            return False
        kinds = {"load": ("R", "R"), "store": ("W", "R-"), "atomic": ("U", "A")}
        if act.order in ("acquire", "acq_rel"):
            for cell in act.cells:
                past |= self.left.get(cell, set())
        before, new = set(past), []
        for cell in act.cells:
            changes = act.kind != "load" and self.memory[cell] != act.value
            new.append((act, cell, kinds[act.kind][not changes]))
        races = any(
            cell == other_cell and number not in before and clash(kind, other_kind)
            for _, cell, kind in new
            for number, (other, other_cell, other_kind) in enumerate(self.events)
            if other.program != act.program
        )
        for event in new:
            past.add(len(self.events))
            self.events.append(event)
            if act.kind != "load":
                self.memory[event[1]] = act.value
        if act.kind == "atomic":
            known = past if act.order in ("release", "acq_rel") else self.fenced.get(act.program, set())
            for cell in act.cells:
                self.seen.setdefault(act.program, set()).update(self.left.get(cell, set()))
                self.left[cell] = self.left.get(cell, set()) | known
        return races


def clash(now: str, earlier: str) -> bool:
    """Read, write, silent store (R-: an earlier store is no conflict for it), atomic that changes (U) or not (A)."""
    return {
        "R": earlier in ("W", "U"),
        "W": True,
        "R-": False,
        "U": earlier in ("R", "R-", "W"),
        "A": earlier == "W",
    }[now]


class Watched:
    """The same through Order and Shadow."""

    def __init__(self, size: int = 4) -> None:
        self.order, self.memory, self.size = Order(), np.zeros(CELLS, np.int32), size
        self.shadow = Shadow(CELLS * 4, self.order)

    def act(self, act: Act, site: int = 0) -> bool:
        self.order.enter((act.program, 0, 0))
        if act.kind == "fence":
            self.order.fence(Semantics.named(act.order))
            return False
        cells = np.array(act.cells)
        pieces = self.shadow.pieces(cells * 4, 4)
        semantics = Semantics.named(act.order)
        if act.kind == "atomic":
            self.shadow.acquire(pieces, relaxed=not semantics.acquires)
        old = self.memory[cells]
        new = np.full_like(old, act.value)
        access = self.order.access(act.kind, site)
        same = unchanged(old, new, len(pieces) // len(cells))
        if act.kind == "load":
            found = self.shadow.read(pieces, access)
        elif act.kind == "store":
            found = self.shadow.write(pieces, access, same)
        else:
            found = self.shadow.update(pieces, access, same)
        if act.kind != "load":
            self.memory[cells] = act.value
        if act.kind == "atomic":
            self.shadow.release(pieces, relaxed=not semantics.releases)
        return found is not None


cells = st.sets(st.integers(0, CELLS - 1), min_size=1, max_size=3).map(lambda s: tuple(sorted(s)))
orders = st.sampled_from(["acq_rel", "acq_rel", "acq_rel", "acquire", "release", "relaxed", "relaxed"])


def programs(count: int) -> st.SearchStrategy[list[Act]]:
    who, value = st.integers(0, count - 1), st.integers(0, 2)
    plain = st.builds(Act, who, st.sampled_from(["load", "store"]), cells, value)
    # synchronisation has cells of its own as often as not: locks
    atomic = st.builds(Act, who, st.just("atomic"), cells | st.just((0,)), value, orders)
    fence = st.builds(
        Act, who, st.just("fence"), st.just(()), order=st.sampled_from(["acq_rel", "acquire", "release"])
    )
    return st.lists(plain | atomic | fence, max_size=30)


@settings(max_examples=400, deadline=None)
@given(programs(2))
def test_two_programs_as_the_oracle(acts: list[Act]) -> None:
    """Up to the first race both say the same, act by act."""
    oracle, watched = Oracle(), Watched()
    for act in acts:
        expected = oracle.act(act)
        assert watched.act(act) == expected
        if expected:
            return


@settings(max_examples=300, deadline=None)
@given(programs(5))
def test_what_is_found_is_a_race(acts: list[Act]) -> None:
    """With any number of programs no race is reported that is none; which two of many readers are remembered decides the rest."""
    oracle, watched = Oracle(), Watched()
    for act in acts:
        expected, found = oracle.act(act), watched.act(act)
        assert expected or not found
        if expected:
            return


@settings(max_examples=300, deadline=None)
@given(programs(5))
def test_programs_that_nothing_orders_as_the_oracle(acts: list[Act]) -> None:
    """Without acquire and release all is found, whatever the number of programs."""
    oracle, watched = Oracle(), Watched()
    for act in acts:
        if act.kind == "fence":
            continue
        act = Act(act.program, act.kind, act.cells, act.value)
        expected = oracle.act(act)
        assert watched.act(act) == expected
        if expected:
            return


def test_accesses_of_several_sizes_overlap() -> None:
    order = Order()
    shadow = Shadow(64, order)
    order.enter((0, 0, 0))
    assert (
        shadow.write(shadow.pieces(np.array([0, 16]), 16), order.access("store", 0), np.zeros(2, np.bool_))
        is None
    )
    assert shadow.step == 16
    order.enter((1, 0, 0))
    assert shadow.read(shadow.pieces(np.array([32, 36]), 4), order.access("store", 1)) is None
    assert shadow.step == 4
    found = shadow.read(shadow.pieces(np.array([40, 28]), 4), order.access("store", 2))
    assert found is not None
    assert (found.index, order.program_of(found.other), order.site_of(found.other)) == (1, (0, 0, 0), 0)
    assert (
        shadow.write(shadow.pieces(np.array([31]), 1), order.access("store", 3), np.zeros(1, np.bool_))
        is not None
    )
    assert shadow.step == 1


def test_sets_that_no_address_has_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tri_runtime.races.order._MOST_SETS", 16)
    order = Order()
    shadow = Shadow(4, order)
    place = shadow.pieces(np.array([0]), 4)
    for program in range(200):
        order.enter((program, 0, 0))
        shadow.acquire(place)
        assert shadow.update(place, order.access("store", 0), np.zeros(1, np.bool_)) is None
        shadow.release(place)
    assert len(order._sets) <= 17
    order.enter((200, 0, 0))
    shadow.acquire(place)
    assert shadow.write(place, order.access("store", 0), np.zeros(1, np.bool_)) is None
    order.enter((201, 0, 0))
    assert shadow.read(place, order.access("store", 0)) is not None


def test_a_release_tells_of_what_is_ordered_before_it() -> None:
    """Threads that have not come to a barrier before the release are not told of."""
    order = Order()
    shadow = Shadow(8, order)
    data, lock = shadow.pieces(np.array([0]), 4), shadow.pieces(np.array([4]), 4)
    order.enter((0, 0, 0))
    shadow.write(data, order.access("store", 0, 1, np.array([False, True])), np.zeros(1, np.bool_))
    shadow.release(lock, is_ordered=lambda stamp, threads: not threads[1])
    order.enter((1, 0, 0))
    shadow.acquire(lock)
    assert shadow.read(data, order.access("store", 1)) is not None
    order.enter((0, 0, 0))
    shadow.release(lock, is_ordered=lambda stamp, threads: True)
    order.enter((2, 0, 0))
    shadow.acquire(lock)
    assert shadow.read(data, order.access("store", 1)) is None
