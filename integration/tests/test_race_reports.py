"""No race is reported of programs without one: dots, attention, persistent grids, random kernels."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, seed, settings

import tri
from integration.programs.running import run
from integration.programs.table import PROGRAMS, Choices, choices_of, sample
from integration.random_kernels.program import RandomKernel
from integration.random_kernels.running import check
from integration.random_kernels.strategy import random_kernels
from tri_core.knobs import get

TARGET = "sim:nvidia:sm_90a"


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_in_the_interpreter(program: str) -> None:
    assert get("INTERPRET_RACES")
    case = next(case for case in sample(Choices()) if case.program == program)
    with tri.interpret():
        assert run(case, TARGET).problem == ""


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_simulated_programs(program: str, persistent: bool) -> None:
    """Groups of warps with parts of their own; grids that draw their programs from a counter."""
    target = "sim:nvidia:sm_90a"
    case = next(
        case for case in sample(choices_of(target)) if case.program == program and case.num_warps == 4
    )
    case = replace(case, without="", warp_specialize=True, persistent=persistent)
    with tri.simulation(report=False, races=True, ctas=2):
        assert run(case, TARGET).problem == ""


@seed(20261123)
@settings(max_examples=8, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(random_kernels())
def test_random_kernels(kernel: RandomKernel) -> None:
    with tri.simulation(report=False, races=True):
        check(kernel, ["interpreter", "sim:nvidia:sm_80", "sim:amd:gfx942"], lambda target, error: None)
