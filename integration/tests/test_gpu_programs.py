"""The programs on a real GPU: ``python -m pytest -m gpu integration/tests/test_gpu_programs.py``.

Cases are compiled and run by several processes that share the device.
"""

from __future__ import annotations

import os

import pytest

from integration.programs.program import Case
from integration.programs.running import Outcome, outcomes, run
from integration.programs.table import PROGRAMS, choices_of, sample
from tri_core.plugins import manager

pytestmark = pytest.mark.gpu

#: more would fill the device's memory with contexts
_MOST = 12


def _target() -> str:
    found = manager().probe("nvidia")
    if not found:
        pytest.skip("no NVIDIA GPU")
    return f"nvidia:{found[0].arch}"


@pytest.fixture(scope="module")
def found() -> list[Outcome]:
    """Every combination of two options, passes left out among them."""
    pytest.importorskip("torch")
    target = _target()
    cases = sample(choices_of(target), strength=2, scale="large")
    return list(outcomes(cases, target, jobs=min(_MOST, os.cpu_count() or 1)))


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_pair_of_options(program: str, found: list[Outcome]) -> None:
    mine = [outcome for outcome in found if outcome.case.program == program]
    assert len(mine) >= 5
    assert [f"{o.case}: {o.problem}" for o in mine if o.problem] == []
    assert sum(bool(o.refused) for o in mine) < len(mine) / 2


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("num_warps", [4, 8, 16])
@pytest.mark.parametrize("dtype", ["int8", "float8_e4m3fn", "float8_e5m2"])
def test_registers_are_read_until_the_dot_is_done(dtype: str, num_warps: int, persistent: bool) -> None:
    """8-bit operands across k come through registers; what overwrites them too early is right most of the time."""
    pytest.importorskip("torch")
    case = Case(
        program="matmul",
        dtype=dtype,
        shape=(512, 256, 1024),
        block=(64, 128, 64),
        columns=(True, True),
        num_warps=num_warps,
        num_stages=2,
        warp_specialize=False,
        persistent=persistent,
    )
    target = _target()
    assert [o.problem for o in (run(case, target) for _ in range(30)) if o.problem] == []
