"""Subjects of commits: a package, an imperative, at most 72 letters, an empty line behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.lints import subject


@pytest.mark.parametrize(
    "message",
    [
        "core: erase what several users share once\n\nAn op was touched after it was erased.\n",
        "tri-core, gpu-dialect: rename a view\n# a comment of git's\n",
        'Revert "core: erase"',
        "Merge branch 'a'",
    ],
)
def test_good_messages(message: str) -> None:
    assert subject.faults(message) == []


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Erase what several users share once", "expected 'package: imperative'"),
        ("core: " + "a" * 70, "76 letters"),
        ("core: erase\nmore", "second line"),
        ("", "expected 'package: imperative'"),
    ],
)
def test_faults(message: str, said: str) -> None:
    assert any(said in fault for fault in subject.faults(message))


def test_the_hook_reads_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "message"
    file.write_text("no package")
    monkeypatch.setattr("sys.argv", ["subject", str(file)])
    assert subject.main() == 1
