"""Random kernels of several programs leave what NumPy expects; ``nox -s random`` runs a thousand of them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from integration import random_programs
from integration.random_programs.family import PROGRAMS
from integration.random_programs.patterns import PATTERNS
from integration.random_programs.persist import load, save
from integration.random_programs.program import Programs
from tri_core.errors import Unsupported

_SIMULATORS = ("sim:nvidia:sm_80", "sim:nvidia:sm_90a", "sim:amd:gfx942", "sim:intel:pvc")
_FOUND = sorted((Path(random_programs.__file__).parent / "found").glob("*.json"))


def _check(kernel: Programs, *targets: str) -> None:
    """AssertionError where a target leaves something else than NumPy; what it refuses is left out."""
    expected = PROGRAMS.run(kernel, "numpy")
    for target in targets:
        try:
            found = PROGRAMS.run(kernel, target)
        except Unsupported:
            continue
        assert PROGRAMS.difference(kernel, ("numpy", target), expected, found) is None


@pytest.mark.parametrize("number", range(32))
def test_targets_agree(number: int) -> None:
    """Each kernel in the interpreter, on the CPU target and on one simulator."""
    _check(PROGRAMS.seeded(20261127, number), "interpreter", "cpu", _SIMULATORS[number % len(_SIMULATORS)])


@pytest.mark.parametrize("path", _FOUND, ids=lambda path: path.stem)
def test_what_was_found_is_mended(path: Path) -> None:
    _check(load(path), "interpreter", "cpu", *_SIMULATORS)


@pytest.mark.parametrize("path", _FOUND, ids=lambda path: path.stem)
def test_what_was_found_is_right_in_other_orders(path: Path) -> None:
    kernel = load(path)
    found = PROGRAMS.run(kernel, "sim:nvidia:sm_90a", 4)
    assert (
        PROGRAMS.difference(kernel, ("numpy", "sim:nvidia:sm_90a"), PROGRAMS.run(kernel, "numpy"), found)
        is None
    )


def test_every_pattern_is_drawn() -> None:
    kernels = [PROGRAMS.seeded(0, number) for number in range(60)]
    assert set(itertools.chain.from_iterable(k.productions for k in kernels)) == set(PATTERNS)


def test_kernels_are_kept_as_they_are(tmp_path: Path) -> None:
    for number in range(40):
        kernel = PROGRAMS.seeded(3, number)
        save(kernel, tmp_path / "kernel.json", "because")
        assert load(tmp_path / "kernel.json") == kernel


def test_a_failure_shrinks() -> None:
    kernel = next(
        k for n in range(100) if "turns" in (k := PROGRAMS.seeded(1, n)).productions and len(k.parts) > 2
    )
    smaller = PROGRAMS.shrunk(kernel, lambda k: "turns" in k.productions)
    assert [part.pattern for part in smaller.parts] == ["turns"]
    assert (smaller.num_warps, smaller.num_stages) == (1, 1)
