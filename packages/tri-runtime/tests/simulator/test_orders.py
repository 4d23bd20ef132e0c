"""Orders of warps, of copies, and of whole launches."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tri_core.errors import SimulationError
from tri_runtime.simulator.allocation import Allocation
from tri_runtime.simulator.orders import in_orders
from tri_runtime.simulator.schedule import Orders, Schedule
from tri_runtime.simulator.warps import WarpOrder

_DONE = 1 << 62


def _run(policy: str, collective: int, end: int) -> list[tuple[int, int]]:
    """(place, threads) of 4 warps of 2 lanes that go from place 0 to ``end``, one place at a time."""
    order = WarpOrder(2, {collective}, policy, Random(0))
    places = np.zeros(8, np.int64)
    done: list[tuple[int, int]] = []
    while True:
        place, active = order.next(places, _DONE)
        if place == _DONE:
            return done
        done.append((place, int(active.sum())))
        places[active] += 1
        places[places == end] = _DONE


@pytest.mark.parametrize("policy", ["first", "last", "random", "one late"])
def test_warps_run_alone_and_do_collective_ops_once(policy: str) -> None:
    found = _run(policy, 3, 6)
    assert found.count((3, 8)) == 1
    assert sorted(p for p, n in found if n == 2) == sorted([0, 1, 2, 4, 5] * 4)
    assert found.index((3, 8)) == 12


def test_the_first_and_the_last_run_ahead() -> None:
    first = WarpOrder(2, (), "first", Random(0)).next(np.zeros(8, np.int64), _DONE)[1]
    last = WarpOrder(2, (), "last", Random(0)).next(np.zeros(8, np.int64), _DONE)[1]
    assert np.flatnonzero(first).tolist() == [0, 1]
    assert np.flatnonzero(last).tolist() == [6, 7]


def test_lanes_that_part_run_from_the_least_place() -> None:
    places = np.array([5, 2, 9, 9])
    place, active = WarpOrder(2, (), "first", Random(0)).next(places, _DONE)
    assert (place, np.flatnonzero(active).tolist()) == (2, [1])


def test_who_waits_for_others_at_a_collective_op_lets_them_go_on_in_the_end() -> None:
    """Warp 0 loops for ever: what it waits for may come behind the collective op."""
    order = WarpOrder(1, {7}, "random", Random(0))
    places = np.array([0, 7])
    found = (order.next(places, _DONE)[0] for _ in range(5000))
    assert 7 in found


def test_eight_seeds_have_all_policies() -> None:
    made = [Schedule(Orders(seed)) for seed in range(8)]
    assert len({schedule.warps for schedule in made}) == 4
    assert {schedule.policy for schedule in made} == {"priorities", "random", "turns"}
    late = [[schedule.is_late() for _ in range(32)] for schedule in made]
    assert any(map(all, late))
    assert not all(map(any, late))


def test_what_is_not_permuted_stays() -> None:
    still = Schedule(Orders(0, programs=False, warps=False, copies=False))
    assert still.warps is None
    assert not any(still.is_late() or still.interrupts() for _ in range(100))


def test_launches_begin_with_the_same_memory() -> None:
    array = Allocation("array 'x'", 0, np.zeros(4, np.uint8))
    seen = []

    def launch(orders: Orders | None, is_weak: bool) -> None:
        seen.append((orders, is_weak, array.data.tolist()))
        array.data[:] += 1

    in_orders(launch, [array], None, False, 2)
    assert seen == [(None, False, [0] * 4), (Orders(0), True, [0] * 4), (Orders(1), True, [0] * 4)]
    assert array.data.tolist() == [1] * 4


def test_other_bits_are_an_error_with_the_seed() -> None:
    array = Allocation("array 'x'", 0, np.zeros(4, np.uint8))

    def launch(orders: Orders | None, is_weak: bool) -> None:
        array.data[2] = 5 if orders == Orders(1) else 4

    with pytest.raises(
        SimulationError, match=r"1 bytes of array 'x' differ, the first at byte 2.*schedule=1"
    ) as caught:
        in_orders(launch, [array], None, False, 8)
    assert caught.value.check == "order"


def test_an_error_has_the_seed_as_a_note() -> None:
    def launch(orders: Orders | None, is_weak: bool) -> None:
        if orders == Orders(3):
            raise SimulationError("wrong", check="race")

    with pytest.raises(SimulationError) as caught:
        in_orders(launch, [], None, False, 8)
    assert "schedule=3" in caught.value.__notes__[0]
