"""What was counted, kept beside the tests: ``{"tri": {case: counts}, "triton": {case: counts}}``."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import tri
from integration.bench_amd_static.cases import CASES, Case, kernel_of, source_of
from integration.bench_amd_static.machine import Counts, counted

__all__ = ["RECORD", "measured", "read", "theirs", "write"]

_TOP = Path(__file__).resolve().parents[2]
RECORD = _TOP / "integration" / "tests" / "bench_amd_static.json"

Table = dict[str, dict[str, int]]


def measured(case: Case) -> tuple[Counts, float]:
    """Ours, and the seconds that compiling took."""
    options = {"num_warps": case.warps, "num_stages": case.stages}
    begun = time.perf_counter()
    source = source_of(tri.ASTSource, kernel_of(case), case)
    made = tri.compile(source, target=f"amd:{case.chip}", options=options)
    return counted(str(made.asm["amdgcn"])), time.perf_counter() - begun


def theirs(python: str) -> Table:
    """Triton's, by a Python that has it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-W", "ignore", "-m", "integration.bench_amd_static.original", folder]
        environment = {**os.environ, "PYTHONPATH": str(_TOP), "TRITON_CACHE_DIR": f"{folder}/cache"}
        subprocess.run(command, env=environment, check=True)
        files = {case.name: Path(folder) / f"{number}.s" for number, case in enumerate(CASES)}
        return {name: counted(path.read_text()).as_dict() for name, path in files.items() if path.exists()}


def read() -> dict[str, Table]:
    """The record."""
    found: dict[str, Table] = json.loads(RECORD.read_text())
    return found


def write(tables: dict[str, Table]) -> None:
    """Replace the record."""
    RECORD.write_text(json.dumps(tables, indent=1) + "\n")
