"""Record of Triton's loops, kept beside the tests."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from integration.steady_loops.cases import CASES
from integration.steady_loops.machine import steady
from tri_backend_nvidia.disassembly import sass

__all__ = ["RECORD", "recorded"]

TOP = Path(__file__).resolve().parents[2]
RECORD = TOP / "integration" / "tests" / "steady_loops.json"


def recorded(python: str) -> dict[str, int]:
    """Instructions by case, of Triton."""
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-W", "ignore", "-m", "integration.steady_loops.original", folder]
        environment = {**os.environ, "PYTHONPATH": str(TOP), "TRITON_CACHE_DIR": f"{folder}/cache"}
        subprocess.run(command, env=environment, check=True)
        binaries = {case.name: Path(folder) / f"{number}.cubin" for number, case in enumerate(CASES)}
        return {
            name: len(steady(sass(path.read_bytes()))) for name, path in binaries.items() if path.exists()
        }
