"""Signals during launches on the CPU: handlers run, Ctrl-C ends the launch, and the process is as good as before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("interrupt_kernels.py")


def run(name: str, threads: int) -> str:
    environment = {**os.environ, "TRI_CPU_THREADS": str(threads)}
    command = [sys.executable, "-W", "error", str(SCRIPT), name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("name", ["many", "endless", "endless everywhere", "loop", "helper"])
def test_an_interrupt_ends_a_launch(name: str, threads: int) -> None:
    words = run(name, threads).split()
    assert words[:2] == ["interrupted", "after"]
    assert float(words[2]) < 10


@pytest.mark.parametrize("threads", [1, 3])
def test_handlers_run_and_may_launch(threads: int) -> None:
    assert run("handled", threads) == "handled True\n"
