"""Shards of the test-suite: every file is in one of them, the same one everywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from integration.sharded_tests import counts, slowest

TOP = Path(__file__).resolve().parents[2]


def collected(folder: Path, *arguments: str) -> tuple[int, list[str]]:
    """pytest's exit status, and the names of the files of tests that it collected in ``folder``."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:hypothesispytest", *arguments],
        cwd=folder,
        env={"PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, [line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text((TOP / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    for number in range(12):
        (tmp_path / f"test_{number}.py").write_text("def test(): pass\n")
    return tmp_path


def test_each_file_is_in_one_shard(folder: Path) -> None:
    shards = [collected(folder, "--shard", f"{index}/3")[1] for index in (1, 2, 3)]
    assert all(shards)
    assert sorted(name for shard in shards for name in shard) == sorted(
        f"test_{number}.py" for number in range(12)
    )
    (folder / "test_3.py").unlink()
    assert collected(folder, "--shard", "1/3")[1] == [name for name in shards[0] if name != "test_3.py"]


def test_a_shard_that_is_none_is_refused(folder: Path) -> None:
    assert collected(folder, "--shard", "4/3")[0] == 4


def test_counts_of_the_last_line() -> None:
    text = "...\nFAILED test_a.py::test - 3 failed\n1 failed, 20 passed, 3 skipped, 1 warning in 2.00s\n"
    assert counts(text) == {"failed": 1, "passed": 20, "skipped": 3, "warning": 1}
    assert counts("no tests ran in 0.01s") == {}


def test_the_slowest_of_all_shards() -> None:
    first = "== slowest ==\n12.50s call     a/test_a.py::test_one[x y]\n0.90s setup    a/test_a.py::test_two\n1 passed\n"
    second = "30.00s call     b/test_b.py::test\n2 passed in 31.00s\n"
    assert slowest([first, second]) == [
        (30.0, "b/test_b.py::test"),
        (12.5, "a/test_a.py::test_one[x y]"),
        (0.9, "a/test_a.py::test_two"),
    ]
