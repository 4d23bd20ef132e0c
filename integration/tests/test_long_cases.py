"""Samples of cases that take long: what every change runs and what the night adds are all cases, and none twice."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from integration.long_cases import BUDGET, LongCases, measured, read, some

TOP = Path(__file__).resolve().parents[2]
NAMES = tuple(f"case{number}" for number in range(12))


@pytest.mark.parametrize("budgets", [0.5, 1, 2, 3, 100])
def test_as_many_as_fit(budgets: float) -> None:
    """Two at least, the first among them, in equal steps."""
    chosen = some(NAMES, LongCases(budgets * BUDGET))
    count = len(NAMES) if budgets <= 1 else max(2, round(len(NAMES) / budgets))
    assert len(chosen) == count
    assert "case0" in chosen
    places = sorted(NAMES.index(name) for name in chosen)
    gaps = {b - a for a, b in itertools.pairwise(places)}
    assert max(gaps) - min(gaps) <= 1


def test_heavy_cases_are_left_out() -> None:
    """Unless there is no other: the lightest of them runs then."""
    assert some(NAMES, LongCases(1.0, NAMES[:3])) == frozenset(NAMES[3:])
    assert some(NAMES[3:], LongCases(0.0, ("case2", "case9", *NAMES))) == {"case9"}
    assert some([], LongCases(0.0, NAMES)) == frozenset()


def test_a_case_that_is_new_counts() -> None:
    """It is among those that are chosen from."""
    assert some(["new"], LongCases(10 * BUDGET)) == {"new"}


def test_what_pytest_printed() -> None:
    """Calls alone, the longest of a case, and only of functions with several cases that are worth it."""
    text = f"""
{3 * BUDGET:.2f}s call     a/test_a.py::test_heavy[three]
{2 * BUDGET:.2f}s call     a/test_a.py::test_heavy[one]
0.25s call     a/test_a.py::test_heavy[a two]
9.00s setup    a/test_a.py::test_heavy[a two]
0.50s call     a/test_a.py::test_heavy[a two]
{BUDGET * 0.75:.2f}s call     a/test_a.py::test_long[1]
{BUDGET * 0.75:.2f}s call     a/test_a.py::test_long[2]
0.10s call     a/test_a.py::test_short[1]
0.10s call     a/test_a.py::test_short[2]
99.00s call     a/test_a.py::test_alone
"""
    assert measured([text]) == {
        "a/test_a.py::test_heavy": LongCases(0.5, ("one", "three")),
        "a/test_a.py::test_long": LongCases(round(1.5 * BUDGET, 1)),
    }


def test_the_table_names_tests_that_there_are() -> None:
    """Each in a file with a function of that name; whoever renames one renames it there."""
    for name in read():
        path, _, function = name.partition("::")
        assert f"def {function.rpartition('::')[2]}(" in (TOP / path).read_text(), name


def _run(folder: Path, cases: str) -> set[str]:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--collect-only",
            "-p",
            "no:hypothesispytest",
            "--cases",
            cases,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {line for line in done.stdout.splitlines() if "::" in line}


def test_pytest_divides_them(tmp_path: Path) -> None:
    """``some`` and ``rest`` are all, and share no test."""
    (tmp_path / "integration").mkdir()
    (tmp_path / "conftest.py").write_text((TOP / "conftest.py").read_text())
    (tmp_path / "integration" / "long_cases.py").write_text(
        (TOP / "integration" / "long_cases.py").read_text()
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    (tmp_path / "test_a.py").write_text(
        "import pytest\n\n@pytest.mark.parametrize('x', range(6))\ndef test_x(x): pass\n\ndef test_y(): pass\n"
    )
    table = {"test_a.py::test_x": {"seconds": 2 * BUDGET, "heavy": ["5"]}}
    (tmp_path / "integration" / "long_cases.json").write_text(json.dumps(table))
    everything, chosen, rest = (_run(tmp_path, cases) for cases in ("all", "some", "rest"))
    assert chosen | rest == everything
    assert not chosen & rest
    assert chosen == {f"test_a.py::{each}" for each in ("test_x[0]", "test_x[2]", "test_y")}
