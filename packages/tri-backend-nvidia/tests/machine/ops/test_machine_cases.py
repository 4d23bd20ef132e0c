"""Every machine op has a case that the simulator runs and that assembles; GPUs are compared in test_gpu_machine.py."""

from __future__ import annotations

import numpy as np
import pytest

import cluster_cases  # noqa: F401  more rows of the table
from machine_runs import difference, ptx_text, simulated
from nvidia_support import assembled
from tcgen05_tensor_cases import CASES
from tri_gpu_dialect.lowering.machine import machine_ops


def test_every_machine_op_has_a_case() -> None:
    ops = {name for name in machine_ops() if name.startswith("nvm.")}
    assert ops == {case.op for case in CASES.values()}


@pytest.mark.parametrize("name", CASES)
def test_the_simulator_runs_it(name: str) -> None:
    case = CASES[name]
    made = simulated(case)
    inputs, poison = case.arguments()
    before = [inputs[i] for i in case.changes] + poison
    assert any(a.tobytes() != b.tobytes() for a, b in zip(made, before, strict=True))
    assert difference(case, made, simulated(case)) == ""


@pytest.mark.parametrize("name", sorted({case.op: name for name, case in CASES.items()}.values()))
def test_it_assembles(name: str) -> None:
    usage = assembled(ptx_text(CASES[name]), CASES[name].arch).usage
    assert usage.spill_stores == 0


def test_a_difference_is_seen() -> None:
    case = CASES["shuffle-bfly"]
    right = simulated(case)
    wrong = [np.roll(a, 1, axis=0) for a in right]
    assert "of 128 differ, first at" in difference(case, wrong, right)
    close = CASES["divide_full"]
    exact = simulated(close)
    assert difference(close, [np.nextafter(a, np.float32(np.inf)) for a in exact], exact) == ""
    assert "differ" in difference(close, [a * np.float32(1.00001) for a in exact], exact)
