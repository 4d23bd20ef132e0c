"""Ordered barriers of warp groups: a group that has passed its own synchronises with none of the others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from machine_cases import Column, Kernel, MachineCase, any_bits, build, each
from machine_runs import simulated
from tri_backend_nvidia.machine import BarrierOp, OrderedBarrierOp, PartitionBarrierOp
from tri_core.errors import SimulationError

#: what 64 threads, two groups of 32, synchronize at
BARRIERS: dict[str, Callable[[], object]] = {
    "all": lambda: build(BarrierOp, []),
    "by name": lambda: build(PartitionBarrierOp, [], number=1, threads=64),
}


def run(*steps: str | Callable[[], object]) -> None:
    """Two rounds of ``steps``: steps of ordered and other barriers."""

    def body(k: Kernel) -> None:
        group = k.b.lshr(k.thread, 5)

        def ordered(step: str) -> None:
            build(OrderedBarrierOp, [group], step=step, first=14, groups=2, threads=32)

        ordered("open")
        for step in steps * 2:
            ordered(step) if isinstance(step, str) else step()
        ordered("close")
        k.write(1, k.read(0)[0])

    column = (Column("i4"),)
    simulated(MachineCase("ordered barrier", "", column, column, body, each(any_bits("i4")), grid=(1, 1, 1)))


@pytest.mark.parametrize("synchronize", BARRIERS.values(), ids=BARRIERS)
def test_threads_that_synchronise_between_ordered_barriers_wait_forever(synchronize) -> None:
    with pytest.raises(
        SimulationError, match=r"deadlock: threads 0-31 wait for barrier .*, where 32 of 64"
    ) as found:
        run("wait", synchronize, "pass")
    assert found.value.check == "deadlock"
    assert "threads 32-63 wait for barrier 15, where 32 of 64 threads are" in found.value.message


@pytest.mark.parametrize("synchronize", BARRIERS.values(), ids=BARRIERS)
def test_threads_synchronise_outside_of_ordered_barriers(synchronize) -> None:
    run("wait", "pass", synchronize)


def test_a_turn_that_is_not_passed_on() -> None:
    with pytest.raises(SimulationError, match="deadlock: threads 0-31 wait for barrier 14"):
        run("wait")
