"""Dots, attention and convolution with every pair of options, against float64; the whole is ``nox -s programs``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from integration.changes import MANDATORY, Change, changed, optional_passes, passes_of
from integration.programs import __main__ as command
from integration.programs import running
from integration.programs.cover import cover
from integration.programs.program import Case, Data
from integration.programs.running import Outcome, compiled, error_of, outcomes, run
from integration.programs.table import (
    NUM_STAGES,
    NUM_WARPS,
    PROGRAMS,
    Choices,
    all_cases,
    choices_of,
    crossed,
    sample,
)
from integration.steady_loops import cases, machine
from tri_core.errors import TriError

SIMULATED = ("sim:nvidia:sm_80", "sim:nvidia:sm_90a")


def problems(found: Sequence[Outcome]) -> list[str]:
    return [f"{outcome.case}: {outcome.problem}" for outcome in found if outcome.problem]


@pytest.mark.parametrize("program", PROGRAMS)
def test_on_the_cpu_target(program: str) -> None:
    cases = [case for case in sample(Choices()) if case.program == program][:5]
    assert len(cases) == 5
    assert problems(list(outcomes(cases, "cpu"))) == []


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("target", SIMULATED)
def test_every_pair_of_options(target: str, program: str) -> None:
    """A quarter of a sample that has every pair of options: each target has its own, and all of them are nightly."""
    part = SIMULATED.index(target)
    cases = [case for case in sample(choices_of(target))[part::4] if case.program == program]
    assert len(cases) >= 2
    found = list(outcomes(cases, target))
    assert problems(found) == []
    assert not all(outcome.refused for outcome in found)


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("target", SIMULATED)
def test_every_three_options(target: str, program: str) -> None:
    cases = [case for case in sample(choices_of(target), strength=3) if case.program == program]
    assert problems(list(outcomes(cases, target))) == []


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("target", SIMULATED)
def test_every_pair_of_options_with_blocks_of_devices(target: str, program: str) -> None:
    """Instructions of warp groups, partitions and ordered barriers take tiles that small sizes do not have."""
    cases = [case for case in sample(choices_of(target), scale="few") if case.program == program]
    assert problems(list(outcomes(cases, target, jobs=os.cpu_count() or 1))) == []


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("target", SIMULATED)
def test_every_combination_of_options(target: str, program: str) -> None:
    """Warps, stages and each pass, crossed."""
    cases = [case for case in crossed(choices_of(target)) if case.program == program]
    assert problems(list(outcomes(cases, target, jobs=os.cpu_count() or 1))) == []


def test_what_the_sample_has() -> None:
    """All of the issue: warps, stages, tiles, orders, and every pass, with every program."""
    choices = choices_of("sim:nvidia:sm_90a")
    cases = sample(choices)
    for program in PROGRAMS:
        mine = [case for case in cases if case.program == program]
        assert {case.num_warps for case in mine} == set(NUM_WARPS)
        assert {case.num_stages for case in mine} == set(NUM_STAGES)
        assert {case.without for case in mine} == {"", *choices.without}
        assert {case.warp_specialize for case in mine} == {case.persistent for case in mine} == {False, True}
    assert len(cases) < 320
    whole = [*all_cases(Choices(("pipeline",), (False, True)))]
    assert len({*map(str, whole)}) == len(whole)


def test_options_are_crossed() -> None:
    choices = choices_of("sim:nvidia:sm_90a")
    cases = list(crossed(choices))
    options = {(case.program, case.num_warps, case.num_stages, case.without) for case in cases}
    assert (
        len(cases)
        == len(options)
        == len(PROGRAMS) * len(NUM_WARPS) * len(NUM_STAGES) * (1 + len(choices.without))
    )
    for program in PROGRAMS.values():
        mine = [case for case in cases if case.program == program.name]
        assert {case.dtype for case in mine} == set(program.bounds)
        assert {case.columns for case in mine} == set(program.columns)
        assert {case.warp_specialize for case in mine} == {False, True}


def test_mandatory_passes_are_there_and_the_others_are_not_nothing() -> None:
    assert set(MANDATORY) <= set(passes_of(SIMULATED[-1]))
    for target in SIMULATED:
        assert {"coalesce", "pipeline", "accelerate-matmul", "remove-layout-conversions"} <= set(
            optional_passes(target)
        )


@pytest.mark.parametrize("name", [name for name in MANDATORY if name != "create-tensormaps"])
def test_a_mandatory_pass_cannot_be_left_out(name: str) -> None:
    """If this fails, the pass has become optional: strike it off the list."""
    case = Case(
        program="matmul through descriptors",
        dtype="float16",
        shape=(40, 40, 72),
        block=(32, 16, 32),
        without=name,
    )
    assert run(case, "sim:nvidia:sm_90a").problem


def test_descriptors_that_kernels_make_need_their_pass() -> None:
    """The sizes of these programs need none."""
    case = next(case for case in cases.CASES if case.kernel == "grouped_matmul")
    assert "ttng.tensormap_create" in machine.compiled(case).asm["ttgir"]
    with changed("nvidia:sm_90a", Change(without="create-tensormaps")), pytest.raises(TriError):
        machine.compiled(case)


def test_a_pass_that_is_not_there_is_not_left_out_silently() -> None:
    case = Case(program="matmul", dtype="float16", shape=(40, 40, 72), block=(32, 16, 32), without="made-up")
    assert "no pass 'made-up'" in run(case, SIMULATED[0]).problem


def test_wrong_numbers_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """One element that is not written, and one that is off."""
    case = Case(program="matmul", dtype="int8", shape=(40, 40, 72), block=(32, 16, 32))
    assert not run(case, "cpu").problem
    launched = running._launched

    def off_by_one(case: Case, target: str, data: Data) -> Sequence[np.ndarray]:
        (made,) = launched(case, target, data)
        made[3, 5] += 1
        return [made]

    monkeypatch.setattr(running, "_launched", off_by_one)
    assert "the error is" in run(case, "cpu").problem
    expected = np.ones(4)
    assert np.isnan(error_of([np.ones(4), np.array([1, np.nan, 1, 1])], [expected, expected]))


def test_what_a_gpu_that_is_not_here_would_refuse() -> None:
    """Two stages of 96 KiB, a tile of 64 KiB, and an operand of 64 KiB that changes its layout: both go in pieces."""
    case = Case(
        program="persistent matmul",
        dtype="float64",
        shape=(512, 256, 1024),
        block=(64, 128, 64),
        columns=(False, True),
        num_warps=8,
        num_stages=1,
        warp_specialize=True,
        persistent=False,
    )
    assert not (made := compiled(case, "nvidia:sm_90a")).problem, made.problem
    assert not made.refused
    assert "shared memory" in compiled(replace(case, without="subtile-epilogue"), "nvidia:sm_90a").refused
    small = Case(program="matmul", dtype="float16", shape=(40, 40, 72), block=(32, 16, 32), num_warps=64)
    assert "at most 32 warps" in compiled(small, "nvidia:sm_80").problem


@pytest.mark.parametrize(
    ("program", "block", "num_warps"), [("attention", (64, 64), 16), ("attention backward", (128, 64), 8)]
)
def test_nobody_meets_in_a_turn(program: str, block: tuple[int, int], num_warps: int) -> None:
    """Conversions in the loop go through memory, where all groups synchronise: kernels with ordered barriers there hung on a card."""
    case = Case(
        program=program,
        dtype="float16",
        shape=(1, 256, 64, 1),
        block=block,
        num_warps=num_warps,
        without="remove-layout-conversions",
        warp_specialize=True,
    )
    assert run(case, "sim:nvidia:sm_90a").problem == ""


def test_a_sweep_goes_on_where_it_was_cut_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done, wrong = tmp_path / "done", []

    def judged(case: Case, target: str) -> Outcome:
        wrong.append(case)
        return Outcome(case, problem="it is wrong" if len(wrong) == 1 else "")

    monkeypatch.setattr(command, "run", judged)
    options = ["programs", "--target", "sim:nvidia:sm_80", "--most", "9", "--done", str(done)]
    monkeypatch.setattr("sys.argv", [*options, "--part", "1/3"])
    assert command.main() == 1
    assert len(done.read_text().splitlines()) == 2
    monkeypatch.setattr("sys.argv", options)
    assert command.main() == 0
    assert "7 cases, 0 wrong" in capsys.readouterr().out
    assert len(set(done.read_text().splitlines())) == 9


def test_a_change_ends() -> None:
    before = passes_of(SIMULATED[0])
    with changed(SIMULATED[0], Change(without="pipeline")):
        assert passes_of(SIMULATED[0]) == [name for name in before if name != "pipeline"]
    assert passes_of(SIMULATED[0]) == before


_TABLES = st.lists(
    st.dictionaries(st.sampled_from("abcde"), st.lists(st.integers(0, 4), min_size=1, max_size=4, unique=True), min_size=3),
    min_size=1,
    max_size=3,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(_TABLES, st.sampled_from((1, 2, 3)))
def test_samples_cover(tables: list[dict[str, list[int]]], strength: int) -> None:
    rows = cover(tables, strength)
    for table in tables:
        for axes in combinations(sorted(table), strength):
            for options in product(*(table[axis] for axis in axes)):
                wanted = dict(zip(axes, options, strict=True)).items()
                assert any(wanted <= row.items() for row in rows)
    assert all(any(set(row) == set(t) and all(row[a] in t[a] for a in t) for t in tables) for row in rows)
