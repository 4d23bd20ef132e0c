"""A launch that is done in several orders, which must leave the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tri_core.errors import SimulationError, TriError
from tri_runtime.simulator.allocation import Allocation
from tri_runtime.simulator.schedule import Orders

__all__ = ["in_orders"]


def in_orders(
    launch: Callable[[Orders | None, bool], None],
    arrays: Sequence[Allocation],
    given: Orders | None,
    is_weak: bool,
    count: int,
) -> None:
    """Do ``launch(order, is memory weak)`` as ``given``, and from the same memory in ``count`` other orders; ``arrays`` are what it writes.

    SimulationError where another order leaves other bits; what an error of a launch says is followed by the order's seed.
    """
    before = [array.data.copy() for array in arrays] if count else []
    launch(given, is_weak)
    first = [array.data.copy() for array in arrays] if count else []
    for seed in range(count):
        for array, data in zip(arrays, before, strict=True):
            array.data[:] = data
        try:
            launch(Orders(seed), True)
        except TriError as error:
            error.add_note(f"in another order, which tri.simulation(memory='weak', schedule={seed}) repeats")
            raise
        for array, data in zip(arrays, first, strict=True):
            _compare(array, data, seed)


def _compare(array: Allocation, first: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], seed: int) -> None:
    wrong = np.flatnonzero(array.data != first)
    if len(wrong):
        place = int(wrong[0])
        raise SimulationError(
            f"the kernel leaves other bits in another order: {len(wrong)} bytes of {array.name} differ, the first at byte "
            f"{place}: {first[place]:#04x}, and {array.data[place]:#04x} in the order of "
            f"tri.simulation(memory='weak', schedule={seed})",
            remedy="order the accesses (tri.simulation(races=True) names them); where the order may count, as in sums of floats by "
            "atomics, compare yourself under tri.simulation(schedule=SEED)",
            check="order",
        )
