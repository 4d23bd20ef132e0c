"""Tests that pytest collects: ``pytest --pyargs tri_conformance.suite --tri-target X``.

One test, once for each case: the plug-in deals the cases out, the judge decides.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tri_conformance.case import Case
from tri_conformance.judge import Result


def test_conformance(tri_case: Case, tri_judge: Callable[[Case], Result]) -> None:
    """The target does what the case asks, or has declared that it does not."""
    result = tri_judge(tri_case)
    if result.verdict == "failed":
        pytest.fail(f"{tri_case.id}: {result.detail}", pytrace=False)
    if result.verdict == "known-failure":
        pytest.xfail(result.detail)
    if result.verdict in ("gap", "not-applicable"):
        pytest.skip(result.detail)


def test_declarations(tri_unused: list[str]) -> None:
    """Every declared gap and known failure is that of a case."""
    if tri_unused:
        pytest.fail(f"declared, but there is no such case: {', '.join(tri_unused)}", pytrace=False)
