from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
PYTHON = os.environ.get("TRI_TEST_LEVEL_ZERO_PYTHON", sys.executable)


def test_compiled_launches_take_a_part_of_what_ctypes_takes() -> None:
    """Loosely, as others may use the machine: documented are 0.23 and 0.01."""
    probe = [PYTHON, "-c", "import ctypes; ctypes.CDLL('libze_loader.so.1').zeCommandListHostSynchronize"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("no loader of Level Zero 1.11 or later (Debian's libze1)")
    paths = os.pathsep.join(filter(None, [str(TOP), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [PYTHON, "-m", "integration.bench_level_zero"],
        env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    parts = [float(number) for number in re.findall(r"\d+\.\d\d .*(\d+\.\d\d\d)", done.stdout)]
    assert len(parts) == 3, done.stdout
    assert parts[0] == 1
    assert parts[1] < 0.6
    assert parts[2] < 0.1
