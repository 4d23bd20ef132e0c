"""Recorded counts, kept beside the tests: ``{"tri": {case: counts}, "triton": {case: counts}}``."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import tri
from integration.bench_amd_static.cases import CASES, Case, kernel_of, source_of
from integration.bench_amd_static.compiling import in_turns
from integration.bench_amd_static.conflicts import worst_conflict
from integration.bench_amd_static.machine import counted, instructions, steady_loop
from integration.bench_amd_static.page import page
from tri_backend_amd.cycles import CHIPS, ahead_of, alternates, estimate, steps_of
from tri_core.occupancy import occupancy
from tri_core.target_selection import resolve

__all__ = ["PAGE", "RECORD", "measured", "read", "theirs", "timed", "write"]

_TOP = Path(__file__).resolve().parents[2]
RECORD = _TOP / "integration" / "tests" / "bench_amd_static.json"
PAGE = _TOP / "docs" / "measurements" / "amd.md"

Table = dict[str, dict[str, int]]


def measured(case: Case) -> dict[str, int]:
    """Our counts of ``case``."""
    options = {"num_warps": case.warps, "num_stages": case.stages}
    source = source_of(tri.ASTSource, kernel_of(case), case)
    made = tri.compile(source, target=f"amd:{case.chip}", options=options)
    return _figures(case, str(made.asm["amdgcn"]), str(made.asm["ttgir"]))


def _figures(case: Case, assembly: str, ttgir: str) -> dict[str, int]:
    """Counts by column; those that cannot be told are left out."""
    worst = worst_conflict(ttgir, resolve(f"amd:{case.chip}"))
    found = counted(assembly).as_dict() | ({} if worst is None else {"conflicts": worst})
    found["waves"] = _waves(case, found["vgprs"], found["lds"])
    return found | _cycles(case, assembly, 1 + (worst or 0))


def _waves(case: Case, registers: int, shared: int) -> int:
    """Wavefronts that a SIMD has room for, by registers, local memory and the size of a work group."""
    unit = resolve(f"amd:{case.chip}").spec.unit
    assert unit is not None
    held = occupancy(unit, warps=case.warps, registers=registers, shared=shared)
    return held.warps // unit.partitions


def _cycles(case: Case, assembly: str, ways: int) -> dict[str, int]:
    """The estimate of a K step of one work group on a compute unit, and the part of it in which the matrix unit works, in percent."""
    lines = instructions(assembly)
    loop = steady_loop(lines)
    if case.chip not in CHIPS or not loop:
        return {}
    chip = CHIPS[case.chip]
    steps, waves = steps_of(loop, case.chip, ways), max(case.warps // chip.simds, 1)
    ahead = ahead_of(steps) if waves > 1 and alternates(lines, loop[-1].split()[-1]) else 0
    made = estimate(steps, chip, waves, ahead)
    return {"cycles": round(made.cycles), "busy": round(100 * made.efficiency)}


def theirs(python: str) -> Table:
    """Triton's, by a Python that has it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-W", "ignore", "-m", "integration.bench_amd_static.original", folder]
        environment = {**os.environ, "PYTHONPATH": str(_TOP), "TRITON_CACHE_DIR": f"{folder}/cache"}
        subprocess.run(command, env=environment, check=True)
        return {
            case.name: _theirs(case, Path(folder, f"{number}.s"))
            for number, case in enumerate(CASES)
            if Path(folder, f"{number}.s").exists()
        }


def _theirs(case: Case, assembly: Path) -> dict[str, int]:
    return _figures(case, assembly.read_text(), assembly.with_suffix(".ttgir").read_text())


def timed(ours: Table, theirs: Table, triton_python: str) -> None:
    """Put the column ``compile`` into both tables: measured with a Python that has Triton, else as recorded."""
    times = in_turns(triton_python) if triton_python else _recorded_times()
    for table, found in zip((ours, theirs), times, strict=True):
        for case in table.keys() & found.keys():
            table[case]["compile"] = found[case]


def _recorded_times() -> tuple[dict[str, int], dict[str, int]]:
    ours, theirs = (
        {case: counts["compile"] for case, counts in read()[name].items() if "compile" in counts}
        for name in ("tri", "triton")
    )
    return ours, theirs


def read() -> dict[str, Table]:
    """The record."""
    found: dict[str, Table] = json.loads(RECORD.read_text())
    return found


def write(tables: dict[str, Table]) -> None:
    """Replace the record and the page."""
    RECORD.write_text(json.dumps(tables, indent=1) + "\n")
    PAGE.write_text(page(tables["tri"], tables["triton"]))
