"""What Python prints of an error that nobody caught: the user's own frames and the message."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

import tri
from tri_core import tracebacks
from tri_core.errors import InternalError, LaunchError

SCRIPT = """
import threading
import numpy as np
import tri
import tri.language as tl

@tri.jit
def kernel(x, n):
    y = n
    if n > 3:
        y = 2.5
    tl.store(x, y)

@tri.jit
def outside(x, n):
    tl.store(x + n, n)

def grid(facts):
    return 1 // 0

def launch(kernel, grid):
    kernel[grid](np.zeros(4, np.int32), 1000)

"""

#: what the script ends with, the lines of the user's frames, and the message
CASES = {
    "compile": (
        "launch(kernel, (1,))",
        ["<module>", "launch"],
        "CompilationError: Mismatched type for y between then block",
    ),
    "inside of a kernel": (
        "launch(outside, (1,))",
        ["<module>", "launch", "outside"],
        "OutOfBounds: ",
    ),
    "the user's own function": (
        "launch(outside, grid)",
        ["grid", "<module>", "launch"],
        "LaunchError: the grid function of outside raised ZeroDivisionError",
    ),
    "a thread": (
        "t = threading.Thread(target=launch, args=(kernel, (1,))); t.start(); t.join()",
        ["run", "_bootstrap_inner", "launch"],
        "CompilationError: Mismatched type for y between then block",
    ),
}


def printed(tmp_path: Path, end: str, **environment: str) -> list[str]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + end + "\n")
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TRI_INTERPRET": "1", **environment},
    )
    return done.stderr.splitlines()


def frames(lines: list[str]) -> list[str]:
    """The functions of the frames, in order."""
    return [line.rpartition(" in ")[2] for line in lines if line.startswith('  File "')]


@pytest.mark.parametrize("case", CASES)
def test_the_users_frames_and_the_message(tmp_path: Path, case: str) -> None:
    end, functions, message = CASES[case]
    lines = printed(tmp_path, end)
    assert sorted(frames(lines)) == sorted(functions)
    assert any(message in line for line in lines)
    assert not any("tri_core/" in line or "/tri/" in line for line in lines)


def test_a_knob_shows_all(tmp_path: Path) -> None:
    lines = printed(tmp_path, "launch(kernel, (1,))", TRI_FULL_TRACEBACK="1")
    assert frames(lines)[:2] == ["<module>", "launch"]
    assert len(frames(lines)) > 5


def test_other_errors_are_left_alone(tmp_path: Path) -> None:
    lines = printed(tmp_path, "grid(None)")
    assert frames(lines) == ["<module>", "grid"]
    assert lines[-1].startswith("ZeroDivisionError")


def raised(make: Callable[[], Exception]) -> Exception:
    """An error that came through tri."""
    threads: list[Exception] = []

    def fail(_: object) -> int:
        raise make()

    @tri.jit
    def kernel():
        pass

    try:
        kernel[fail]()
    except Exception as error:
        threads.append(error)
    return threads[0]


def test_the_error_stays_whole() -> None:
    error = raised(lambda: ValueError("x"))
    assert isinstance(error, LaunchError)
    before = traceback.format_exception(error)
    with tracebacks.shortened(error):
        assert len(traceback.format_exception(error)) < len(before)
        assert error.__cause__ is not None
    assert traceback.format_exception(error) == before


def test_bugs_are_shown_whole() -> None:
    error = raised(lambda: InternalError("x"))
    before = traceback.format_exception(error)
    with tracebacks.shortened(error):
        assert traceback.format_exception(error) == before


def test_notebooks_show_the_same() -> None:
    error = raised(lambda: ValueError("x"))
    with tracebacks.shortened(error):
        expected = "".join(traceback.format_exception(error)).rstrip().split("\n")
    assert isinstance(error, LaunchError)
    assert error._render_traceback_() == expected
