"""Docstrings of public functions give shapes, dtypes and errors, or are counted; the counts only fall."""

from __future__ import annotations

import pytest

from integration.lints.docstrings import BUDGET, documented, lacking, lacks, off_budget

ALL = ("shapes", "dtypes", "errors")


def test_counts_are_the_budget() -> None:
    assert off_budget(lacks()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["shapes", "dtypes", "errors"]),
        ("The sum.", ["shapes", "dtypes", "errors"]),
        ("The sum of ``x`` and ``y``, of one shape.", ["dtypes", "errors"]),
        ("The fp32 sum along ``axis``.", ["errors"]),
        ("The fp32 sum along ``axis``; CompilationError where there is none.", []),
        ("Reshaped, printed, terror.", ["shapes", "dtypes", "errors"]),  # parts of words
    ],
)
def test_what_a_docstring_lacks(text: str, expected: list[str]) -> None:
    assert lacking(text, ALL) == expected


def test_only_what_is_asked_for() -> None:
    assert lacking("The sum.", ("errors",)) == ["errors"]


def test_more_and_fewer_than_the_budget_are_findings() -> None:
    exact = [("f", aspect) for aspect, count in BUDGET.items() for _ in range(count)]
    assert off_budget(exact) == []
    (more,) = off_budget([*exact, ("g", "errors")])
    assert more.endswith("say them")
    (fewer,) = off_budget(exact[:-1])
    assert "lower BUDGET" in fewer


def test_functions_are_counted_once() -> None:
    complete, count = documented()
    assert count > 100
    assert complete >= count - len(lacks())
