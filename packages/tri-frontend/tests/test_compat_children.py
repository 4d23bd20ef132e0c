"""Processes that a process with the stand-in starts have it, too, and no others."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tri.compat.triton as compat
from tri.compat.triton.paths import FOLDER

ASK = "import triton.language as tl, triton; print(type(triton).__name__, tl.__name__)"


def asked() -> tuple[str, str]:
    """What ``triton`` is."""
    import importlib

    return type(importlib.import_module("triton")).__name__, importlib.import_module(
        "triton.language"
    ).__name__


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_children_of_multiprocessing(method: str) -> None:
    with compat.installed(), multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply(asked) == ("StandIn", "triton.language")


def test_other_children() -> None:
    with compat.installed():
        done = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True)
    assert done.stdout == "StandIn triton.language\n"


def test_children_of_an_interpreter_without_tri(tmp_path: Path) -> None:
    (tmp_path / "triton" / "language").mkdir(parents=True)
    for folder in ("triton", "triton/language"):
        (tmp_path / folder / "__init__.py").touch()
    with compat.installed():
        path = os.pathsep.join([FOLDER, str(tmp_path)])
    # no packages but the standard library's
    found = subprocess.run(
        [sys.executable, "-S", "-c", ASK],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "module triton.language\n"


@pytest.mark.parametrize("given", [None, "", "/one", "/one::/two"])
def test_everything_is_as_before_afterwards(given: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    if given is None:
        monkeypatch.delenv("PYTHONPATH", raising=False)
    else:
        monkeypatch.setenv("PYTHONPATH", given)
    path = list(sys.path)
    with compat.installed():
        assert os.environ["PYTHONPATH"].split(os.pathsep) == [FOLDER, *(given.split(":") if given else [])]
        assert sys.path == [path[0], FOLDER, *path[1:]]
        compat.install()
        assert sys.path.count(FOLDER) == 1
    assert sys.path == path
    assert (os.environ.get("PYTHONPATH") or None) == (given or None)
