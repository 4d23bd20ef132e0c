"""The runner of PyTorch's own tests: ``python -m integration.inductor.torch_tests``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from integration.inductor.torch_tests.__main__ import table

TOP = Path(__file__).parents[2]

#: tests as PyTorch writes them, of which one passes by both, and the others by one, or by one where it ends the process
TESTS = """
import os
import sys
import time
import unittest

import torch
from torch._inductor.utils import of_another_version
from torch.of_another_version import decorator

is_tri = "tri" in sys.modules

class Tests(unittest.TestCase):
    def test_passes(self):
        print(torch.sin(torch.ones(3)))

    @unittest.expectedFailure
    def test_fails_as_expected(self):
        self.assertTrue(False)

    def test_fails_by_the_last(self):
        self.assertFalse(is_tri)

    def test_fails_by_the_first(self):
        self.assertTrue(is_tri)

    def test_fails_by_both(self):
        raise ValueError("by both")

    def test_ends_the_last(self):
        if is_tri:
            os._exit(3)

    def test_hangs_the_last(self):
        if is_tri:
            time.sleep(60)

    @of_another_version
    def test_of_another_version(self):
        pass

    @decorator(3)
    def test_that_is_decorated(self):
        pass

class Others(unittest.TestCase):
    def test_other(self):
        pass
"""


def _runs(folder: Path, *arguments: str) -> tuple[int, list[str]]:
    paths = [str(TOP), *filter(None, sys.path)]
    command = [sys.executable, "-m", "integration.inductor.torch_tests", str(folder), "--device", "cpu"]
    given = ["--impls", "cpp,tri", "--jobs", "1", "--output", str(folder), "--modules", "test_some"]
    done = subprocess.run(
        [*command, *given, "--seconds", "20", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        check=False,
    )
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout.splitlines()


@pytest.mark.timeout(600)
def test_tests_that_only_the_last_compiler_fails_are_named(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    file = tmp_path / "inductor" / "test_some.py"
    file.parent.mkdir()
    file.write_text(TESTS)
    status, lines = _runs(tmp_path, "--classes", "Tests")
    assert status == 1
    assert "tri: 9 of 9 tests to run" in lines
    lost = sorted(line.strip().removeprefix("test_some.Tests.") for line in lines if line.startswith("  "))
    assert lost[0].startswith("test_ends_the_last: ended: ended with 3")
    assert lost[1].startswith("test_fails_by_the_last: failed: AssertionError: True is not false")
    assert lost[2].startswith("test_hangs_the_last: ended: no answer within 20 s")
    assert lines[-1] == "of 5 that pass by cpp 2 pass by tri: 40.0%"
    said = {
        o["name"]: o["said"]
        for o in map(json.loads, (tmp_path / "torch_tests.jsonl").read_text().splitlines())
    }
    assert {n for n, s in said.items() if s == "skipped"} == {
        "test_some.Tests.test_of_another_version",
        "test_some.Tests.test_that_is_decorated",
    }
    # what is known is not run again
    status, lines = _runs(tmp_path, "--select", "test_passes,test_other")
    assert status == 1
    assert "tri: 1 of 2 tests to run" in lines
    assert lines[-1] == "of 6 that pass by cpp 3 pass by tri: 50.0%"


def test_what_one_compiler_alone_ran_does_not_count() -> None:
    def outcome(compiler: str, name: str, said: str) -> dict[str, Any]:
        return {"compiler": compiler, "name": name, "said": said, "s": 1.5}

    pairs = {
        "a": ("passed", "passed"),
        "b": ("passed", "skipped"),
        "c": ("skipped", "passed"),
        "d": ("passed",),
    }
    given = [
        outcome(c, name, said)
        for name, both in pairs.items()
        for c, said in zip(("triton", "tri"), both, strict=False)
    ]
    text, share = table(given, ("triton", "tri"))
    assert share == 0.5
    assert text.splitlines() == [
        "triton: 4 tests in 6 s of processes: 3 passed, 1 skipped",
        "tri: 3 tests in 4 s of processes: 2 passed, 1 skipped",
        "  b: skipped: ",
        "of 2 that pass by triton 1 pass by tri: 50.0%",
    ]
