"""A target with options that all kernels get."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tri_conformance import Selection, Subject, cases
from tri_conformance.kernels import memory
from tri_conformance.subject import options_of
from tri_conformance.workers import Workers
from tri_core.api import OptionError


def test_values_are_literals_or_text() -> None:
    found = options_of(["num_warps=8", "debug=True", "mode=large", "name='8'", "empty="])
    assert found == {"num_warps": 8, "debug": True, "mode": "large", "name": "8", "empty": ""}


@pytest.mark.parametrize("word", ["num_warps", "=8", "num-warps=8", ""])
def test_other_words_are_refused(word: str) -> None:
    with pytest.raises(OptionError, match="is no option") as caught:
        options_of([word])
    assert "NAME=VALUE" in str(caught.value.remedy)


def compiled(subject: Subject, **options: Any) -> int:
    x = np.zeros(64, np.int8)
    source = subject.source(memory.copy, [x, x, 10, 10], {"OTHER": 0, "B": 64})
    return int(subject.compile(source, **options).metadata.num_warps)


def test_kernels_get_them_unless_they_have_their_own() -> None:
    subject = Subject("cpu", ("num_warps=2",))
    assert compiled(Subject("cpu")) != 2
    assert compiled(subject) == 2
    assert compiled(subject, num_warps=8) == 8
    assert subject.options().num_warps == 2
    assert subject.options(num_warps=8).num_warps == 8


def test_they_reach_processes_that_judge() -> None:
    """An option that no target has is the failure of each case."""
    subject = Subject("cpu", ("no_such_option=1",))
    workers = Workers(subject, 1)
    picked, _ = cases(Selection(select=("language/add/int32-1000*",)))
    try:
        (result, *_) = [future.result() for future in workers.start(picked).values()]
    finally:
        workers.close()
    assert result.verdict == "failed"
    assert "no_such_option" in result.detail


def test_another_process_compiles_with_them() -> None:
    (case,) = cases(Selection(select=("pipeline/same-bytes-in-another-process",)))[0]
    case.run(Subject("cpu", ("debug=True",)))
    with pytest.raises(AssertionError, match="no_such_option"):
        case.run(Subject("cpu", ("no_such_option=1",)))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tri_conformance", "--target", "cpu", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_the_command_refuses_what_the_target_does_not_know() -> None:
    done = run("--option", "no_such_option=1")
    assert done.returncode == 2
    assert "no_such_option" in done.stderr


def test_the_reports_name_them(tmp_path: Path) -> None:
    data, report = tmp_path / "r.json", tmp_path / "r.md"
    done = run(
        "--select", "language/add/int32-1000*", "--option", "num_warps=2", "--json", str(data), "--report", str(report)
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert json.loads(data.read_text())["options"] == {"num_warps": 2}
    assert "num_warps=2" in report.read_text()
