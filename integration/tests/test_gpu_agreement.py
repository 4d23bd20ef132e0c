"""Whole kernels on a GPU and in its simulator: ``python -m pytest -m gpu integration/tests/test_gpu_agreement.py``.

``test_gpu_machine.py`` compares machine ops; here are the programs: what the simulator says of a kernel is what the card does.
"""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import pytest

from integration.programs.agreement import Agreement, agreement, shared_cases
from integration.programs.table import PROGRAMS, choices_of
from tri_core.plugins import manager

pytestmark = pytest.mark.gpu

#: the largest difference, of the largest value: sums of tensor cores are rounded in an order of their own (a tenth of f16's
#: have the simulator's bits), those of 8-bit floats to about 14 bits; a copy may round a tie of TF32 otherwise;
#: attention rounds its weights and outputs to its type, an element of which may come out as the next one
_SUMS = {
    "float16": 1e-6, "bfloat16": 1e-6, "float32": 1e-4, "float64": 4e-15, "int8": 0.0,
    "float8_e4m3fn": 1e-3, "float8_e5m2": 1e-3,
}  # fmt: skip
_ROUNDED = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-3}


@pytest.fixture(scope="module")
def found() -> list[Agreement]:
    """Each program and type with every schedule."""
    pytest.importorskip("torch")
    devices = manager().probe("nvidia")
    if not devices:
        pytest.skip("no NVIDIA GPU")
    target = f"nvidia:{devices[0].arch}"
    both = partial(agreement, target=target, simulator=f"sim:{target}")
    jobs = min(12, os.cpu_count() or 1)
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(both, shared_cases(choices_of(target))))


def _programs() -> list[tuple[str, str]]:
    return [(p.name, dtype) for p in PROGRAMS.values() for dtype in p.bounds]


@pytest.mark.parametrize(("program", "dtype"), _programs())
def test_the_card_does_what_the_simulator_says(program: str, dtype: str, found: list[Agreement]) -> None:
    mine = [a for a in found if (a.case.program, a.case.dtype) == (program, dtype)]
    bound = (_ROUNDED if program.startswith("attention") else _SUMS)[dtype]
    assert len(mine) >= 6
    assert [f"{a.case}: {a.difference:.2e}" for a in mine if not a.difference <= bound] == []
