"""TMA copies of a real GPU: ``python -m pytest -m gpu packages/tri-backend-nvidia/tests/tma/test_gpu_tma_limits.py``.

Each runs in a process of its own, as an illegal instruction ends a process's use of the GPU.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tma_limits import LIMITS

pytest.importorskip("torch")
pytestmark = pytest.mark.gpu

_SCRIPT = """
from tma_limits import LIMITS
from gpu_machine_runs import on_gpu
on_gpu(LIMITS[{name!r}][0])
"""


@pytest.mark.parametrize("name", LIMITS)
def test_the_gpu_has_the_limits_of_the_simulator(name: str) -> None:
    path = os.pathsep.join([str(Path(__file__).parents[1] / "helpers"), *filter(None, sys.path)])
    made = subprocess.run(
        [sys.executable, "-c", _SCRIPT.format(name=name)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if LIMITS[name][1]:
        assert made.returncode == 0, made.stderr[-2000:]
    else:
        assert "illegal instruction" in made.stderr.lower().replace("_", " "), made.stderr[-2000:]
