"""The conformance kit on a real GPU: ``python -m pytest -m gpu packages/tri-backend-nvidia/tests/test_gpu_conformance.py``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tri_conformance")

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("level", ["static", "layouts", "language", "pipeline", "runtime", "programs"])
def test_a_sample_of_each_level(level: str, tmp_path: Path) -> None:
    """No array library is needed: arrays are held in memory of the runtime's own."""
    made = tmp_path / "result.json"
    command = [
        sys.executable,
        "-m",
        "tri_conformance",
        "--target",
        "nvidia",
        "--level",
        level,
        "--sample",
        "40",
    ]
    command += ["--jobs", "4", "--timeout", "120", "--json", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert json.loads(made.read_text())["ok"] is True
