"""``pytest --last-skipped`` runs what the last run skipped, and only that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]

FILES = {
    "test_whole.py": "import pytest\npytest.importorskip('there')\n\ndef test_a(): pass\n\ndef test_b(): pass\n",
    "test_part.py": "import pytest\n\ndef test_c(): pytest.importorskip('there')\n\ndef test_d(): pass\n",
    "test_none.py": "def test_e(): pass\n",
}


def run(folder: Path, *arguments: str) -> str:
    """Output of ``pytest`` for the tests in ``folder``."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:hypothesispytest", *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(folder / "packages"), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_runs_what_was_skipped(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((TOP / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    assert "2 passed, 2 skipped" in run(tmp_path, "-n", "2")
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "there.py").write_text("")
    for spread in ("2", "0"):
        shown = run(tmp_path, "--last-skipped", "-n", spread)
        assert "3 passed" in shown
        assert "test_d" not in shown
        assert "test_e" not in shown
