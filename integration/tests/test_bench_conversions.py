"""Conversions that are left are counted, and are no more than Triton 3.9 leaves in the same kernels (docs/measurements.md)."""

from __future__ import annotations

import sys

from integration.bench_conversions import CASES, count, rows

#: conversions that Triton leaves for sm_90, and ours: a number for each row of queries is stored as it lies
THEIRS = {"attention D128 causal": 3, "matmul_descriptor fp16": 0}
OURS = {**THEIRS, "attention D128 causal": 2}


def test_no_more_than_triton_leaves() -> None:
    """Of equal layouts in other words none, and none for stores that are hardly ever done."""
    cases = [case for case in CASES if case.name in THEIRS]
    found = count(sys.executable, original=False, cases=cases, architectures={90: "sm_90a"})
    assert {name: made[0] for name in THEIRS if (made := found[f"{name}/90"]) is not None} == OURS
    assert all(made is not None and made[1] > 0 for made in found.values())


def test_more_is_in_bold() -> None:
    lines = rows({"f/80": [1, 2], "f/90": None}, {"f/80": [1, 1], "f/90": [0, 0]})
    assert lines[2:] == ["| f | 80 | 1 | 1 | **2** | 1 |", "| f | 90 | - | 0 | - | 0 |"]
