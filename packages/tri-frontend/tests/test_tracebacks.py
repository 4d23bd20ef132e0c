"""What Python prints of an error that nobody caught: the user's own frames and the message."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tri
from tri_core import knobs, tracebacks
from tri_core.errors import InternalError, LaunchError, TriError

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

#: a test whose kernel has a mistake
TEST = """
import numpy as np
import tri
import tri.language as tl

@tri.jit
def kernel(x):
    tl.store(x, nothing)

def test_kernel():
    with tri.target("cpu"):
        kernel[(1,)](np.zeros(4, np.int32))
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
    def kernel() -> None:
        pass

    try:
        kernel[fail]()
    except Exception as error:
        threads.append(error)
    return threads[0]


def test_what_a_program_catches_has_its_own_frames() -> None:
    error = raised(lambda: ValueError("x"))
    assert isinstance(error, LaunchError)
    assert [frame.name for frame in traceback.extract_tb(error.__traceback__)] == ["raised"]
    assert isinstance(error.__cause__, ValueError)
    assert [frame.name for frame in traceback.extract_tb(error.__cause__.__traceback__)] == ["fail"]


def test_a_knob_keeps_the_frames_of_what_is_caught() -> None:
    with knobs.scope(FULL_TRACEBACK=True):
        error = raised(lambda: ValueError("x"))
    before = traceback.format_exception(error)
    assert len(before) > 8
    with tracebacks.shortened(error):
        assert len(traceback.format_exception(error)) < len(before)
    assert traceback.format_exception(error) == before


def _fails(kernel: Any, name: str) -> None:
    """Call ``kernel`` by ``name``, without its argument."""
    if name == "[]":
        kernel[(1,)]()
    elif name == "compile":
        tri.compile("no-such-file.ttir", "fake:one")
    else:
        getattr(kernel, name)(grid=(1,))


@tri.jit
def _needs(x: Any) -> None:
    pass


_TUNED: Any = tri.autotune([tri.Config({})], key=[])(_needs)
_COMPUTED: Any = tri.heuristics({})(_needs)


@pytest.mark.parametrize("name", ["[]", "run", "warmup", "compile"])
@pytest.mark.parametrize("kernel", [_needs, _TUNED, _COMPUTED], ids=["kernel", "tuned", "computed"])
def test_each_way_in(kernel: Any, name: str) -> None:
    with pytest.raises(TriError) as told:
        _fails(kernel, name)
    assert [frame.name for frame in traceback.extract_tb(told.value.__traceback__)] == [
        "test_each_way_in",
        "_fails",
    ]
    assert not any("/src/tri" in line for line in traceback.format_exception(told.value))


def test_pytest_says_it_in_ten_lines(tmp_path: Path) -> None:
    (tmp_path / "test_kernel.py").write_text(TEST)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, tmp_path],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TRI_INTERPRET": "0"},
    )
    said = done.stdout.partition("= FAILURES =")[2].partition("= short test summary")[0].splitlines()[1:]
    assert "E           tri_core.errors.CompilationError: 'nothing' is not defined" in said
    assert len([line for line in said if line]) <= 10, done.stdout
    assert not any("site-packages" in line or "/tri/" in line for line in said)


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
