"""The simulator against a GPU, bit for bit: ``python -m pytest -m gpu packages/tri-backend-nvidia/tests/machine/ops/test_gpu_machine.py``."""

from __future__ import annotations

import pytest

import cluster_cases  # noqa: F401  more rows of the table
from gpu_machine_runs import on_gpu
from machine_runs import difference, simulated
from wgmma_cases import CASES

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.gpu


# those of other architectures are here when another file has been read before
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.arch == "sm_90a"])
def test_the_simulator_gives_what_the_gpu_gives(name) -> None:
    case = CASES[name]
    assert difference(case, on_gpu(case), simulated(case)) == ""
