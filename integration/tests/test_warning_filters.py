"""Warnings that end a test: ours, and NumPy's about our arithmetic; never a third party's announcements."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]

#: a function of a third party that warns about its caller
ACME = """
import warnings

def old(category):
    warnings.warn("do it otherwise", category, stacklevel=2)
"""


def outcome(folder: Path, module: str, body: str) -> tuple[int, str]:
    """The exit status and output of pytest, as this project configures it, for a test that calls ``module.run``."""
    (folder / "acme.py").write_text(ACME)
    (folder / f"{module}.py").write_text(f"import acme\nimport numpy as np\n\ndef run():\n    {body}\n")
    (folder / "test_it.py").write_text(f"import {module}\n\ndef test_it():\n    {module}.run()\n")
    command = ["-c", str(TOP / "pyproject.toml"), "-p", "no:cacheprovider", "-o", "pythonpath=", "test_it.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *command],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "category", ["DeprecationWarning", "PendingDeprecationWarning", "FutureWarning", "UserWarning"]
)
def test_announcements_of_others_are_shown(category: str, tmp_path: Path) -> None:
    status, shown = outcome(tmp_path, "tri_something", f"acme.old({category})")
    assert status == 0, shown
    assert "do it otherwise" in shown


@pytest.mark.parametrize(
    "body",
    [
        "from tri_core.notices import CacheWarning, warn; import warnings; warnings.warn('full', CacheWarning)",
        "np.float32(3e38) * np.float32(3e38)",
        "acme.old(RuntimeWarning)",
    ],
    ids=["own", "numpy", "runtime"],
)
def test_own_warnings_are_errors(body: str, tmp_path: Path) -> None:
    status, shown = outcome(tmp_path, "tri_something", body)
    assert status == 1, shown


def test_arithmetic_of_others_is_theirs(tmp_path: Path) -> None:
    status, shown = outcome(tmp_path, "other", "np.float32(3e38) * np.float32(3e38)")
    assert status == 0, shown
