"""Turns of warp groups: a group that has its turn meets nobody."""

from __future__ import annotations

import pytest

from machine_cases import Column, Kernel, MachineCase, any_bits, build, each
from machine_runs import simulated
from tri_backend_nvidia.machine import BarrierOp, PartitionBarrierOp, TurnOp
from tri_core.errors import SimulationError


def turn(k: Kernel, step: str) -> None:
    build(TurnOp, [k.b.int_(0)], step=step, first=14, groups=2, threads=32)


def meet(k: Kernel, named: bool) -> None:
    del k
    if named:
        build(PartitionBarrierOp, [], number=1, threads=64)
    else:
        build(BarrierOp, [])


def run(body) -> None:
    case = MachineCase(
        "turn", "", (Column("i4"),), (Column("i4"),), body, each(any_bits("i4")), grid=(1, 1, 1)
    )
    simulated(case)


@pytest.mark.parametrize("named", [True, False])
def test_threads_that_meet_in_a_turn_wait_forever(named: bool) -> None:
    def body(k: Kernel) -> None:
        turn(k, "wait")
        meet(k, named)
        turn(k, "pass")

    with pytest.raises(SimulationError, match="while one warp group has its turn") as found:
        run(body)
    assert found.value.check == "deadlock"


@pytest.mark.parametrize("named", [True, False])
def test_threads_meet_outside_of_turns(named: bool) -> None:
    def body(k: Kernel) -> None:
        turn(k, "wait")
        turn(k, "pass")
        meet(k, named)
        k.write(1, k.read(0)[0])

    run(body)
