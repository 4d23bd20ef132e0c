"""The kit on Intel's OpenCL device, really executed, with sub-groups of each size that GPUs have."""

from __future__ import annotations

import pytest

from tri_conformance import Selection, Subject
from tri_conformance.run import Run
from tri_core import plugins

SIZES = (8, 16, 32)
#: what sub-groups do: lanes that exchange, reduce, scan, layouts that change and dots
EXCHANGES = (
    "language/sum-axis*",
    "language/argmax-axis*",
    "language/scan-*",
    "language/transpose/*",
    "language/gather-axis*",
    "language/histogram/*",
    "language/sort/*",
    "language/dot/*",
)


def judged(size: int, selection: Selection, jobs: int) -> Run:
    if not plugins.manager().probe("intel"):
        pytest.skip("no device of intel")
    return Run(Subject("intel", (f"warp_size={size}",)), selection, jobs=jobs).all()


def failures(run: Run) -> list[tuple[str, str]]:
    return [(result.case.id, result.detail) for result in run.results if result.verdict == "failed"]


@pytest.mark.parametrize("size", SIZES)
def test_a_sample_passes(size: int) -> None:
    run = judged(size, Selection(select=EXCHANGES, sample=40), jobs=1)
    assert not failures(run)
    passed = sum(result.verdict == "passed" for result in run.results)
    assert passed > 0.9 * len(run.results) > 15


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_every_case_passes(size: int) -> None:
    run = judged(size, Selection(), jobs=2)
    assert not failures(run)
    assert not run.unused
