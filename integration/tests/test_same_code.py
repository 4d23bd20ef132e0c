"""The same kernel is compiled to the same code in every process: builds can be reproduced, and a cache has one image of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]


@pytest.mark.parametrize("target", ["nvidia:sm_90a", "nvidia:sm_80", "nvidia:sm_100a", "amd:gfx942", "cpu"])
def test_two_processes_compile_to_the_same(target: str, tmp_path: Path) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "integration.programs.digests", target],
            cwd=TOP,
            env={**os.environ, "PYTHONHASHSEED": str(seed), "TRI_CACHE_DIR": str(tmp_path / str(seed))},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in (1, 2)
    ]
    one, other = (process.communicate()[0].splitlines() for process in running)
    assert [process.returncode for process in running] == [0, 0]
    assert one == other
    assert len(one) >= 2 * 20
    assert len(one) == 2 * len(set(one))
