"""Rows: what a kernel takes on a target, by both compilers, counted alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integration.bench_amd_static.machine import counted, instructions, steady_loop
from integration.strangers.compilers import result
from integration.strangers.figures import beyond_a_tenth
from integration.strangers.record import Kernel
from tri_backend_amd.cycles import CHIPS, ahead_of, alternates, estimate, steps_of
from tri_core.occupancy import occupancy
from tri_core.target_selection import resolve

__all__ = ["COLUMNS", "Row", "losing", "rows", "table"]

#: figures by column, and whether more is better
COLUMNS = {
    "instructions": False,
    "vgprs": False,
    "spills": False,
    "lds": False,
    "waves": True,
    "cycles": False,
}

Figures = Mapping[str, int]


@dataclass(frozen=True)
class Row:
    """``ours`` and ``theirs``: figures by column, empty where the compiler refuses; ``refused``: what tri, ``they_refused``: what Triton says."""

    kernel: Kernel
    chip: str
    ours: Figures
    theirs: Figures
    refused: str = ""
    they_refused: str = ""

    @property
    def label(self) -> str:
        """``package name KEY``."""
        return f"{self.kernel.package} {self.kernel.name} {self.kernel.key[:4]}"

    @property
    def worse(self) -> list[str]:
        """The figures that are worse than Triton's by more than a tenth."""
        return [n for n, more in COLUMNS.items() if _worse(self.ours.get(n), self.theirs.get(n), more)]


def _worse(mine: int | None, their: int | None, more_is_better: bool) -> bool:
    if mine is None or their is None:
        return False
    return beyond_a_tenth(mine, their, more_is_better=more_is_better)


def rows(kernels: Iterable[Kernel], chip: str, ours: Path, theirs: Path) -> list[Row]:
    """A row for each of ``kernels``, whose results lie in the folders ``ours`` and ``theirs``."""
    target = f"amd:{chip}"
    made = []
    for kernel in kernels:
        mine, their = (result(folder, (kernel.key, target)) for folder in (ours, theirs))
        made.append(
            Row(kernel, chip, _figures(mine, chip), _figures(their, chip), mine.get("error", ""), their.get("error", ""))
        )  # fmt: skip
    return made


def _figures(made: Mapping[str, Any], chip: str) -> dict[str, int]:
    if "error" in made:
        return {}
    text, warps = made["code"], made["warps"]
    found = counted(text)
    unit = resolve(f"amd:{chip}").spec.unit
    assert unit is not None
    shared = max(found.lds, made["shared"])
    held = occupancy(unit, warps=warps, registers=found.vgprs, shared=shared)
    plain = {
        "instructions": found.total, "vgprs": found.vgprs, "spills": found.spills, "lds": shared,
        "waves": held.warps // unit.partitions,
    }  # fmt: skip
    return plain | _cycles(text, chip, warps)


def _cycles(text: str, chip: str, warps: int) -> dict[str, int]:
    """The estimate of a pass over the steady loop, for the same number of matrix instructions by nobody: see ``products``."""
    lines = instructions(text)
    loop = steady_loop(lines)
    if chip not in CHIPS or not loop:
        return {}
    steps, waves = steps_of(loop, chip, 1), max(warps // CHIPS[chip].simds, 1)
    ahead = ahead_of(steps) if waves > 1 and alternates(lines, loop[-1].split()[-1]) else 0
    return {"cycles": round(estimate(steps, CHIPS[chip], waves, ahead).cycles)}


def losing(found: Iterable[Row]) -> list[Row]:
    """Rows with a figure that is worse by more than a tenth, and those that tri alone refuses."""
    return [row for row in found if row.worse or (row.refused and not row.they_refused)]


def table(found: Sequence[Row]) -> str:
    """Markdown: ``ours / Triton's`` in each column, in bold where worse by more than a tenth."""
    heads = ["kernel", "chip", *COLUMNS]
    lines = [f"| {' | '.join(heads)} |", f"| --- | --- |{' ---: |' * len(COLUMNS)}"]
    for row in found:
        cells = [_cell(row, name) for name in COLUMNS]
        if row.refused:
            cells[0] = f"refused: {_short(row.refused)}"
        if row.they_refused:
            cells[-1] = f"Triton refuses: {_short(row.they_refused)}"
        lines.append(f"| {row.label} | {row.chip} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(row: Row, name: str) -> str:
    mine, their = row.ours.get(name), row.theirs.get(name)
    if mine is None and their is None:
        return ""
    text = f"{'-' if mine is None else mine} / {'-' if their is None else their}"
    return f"**{text}**" if name in row.worse else text


def _short(error: str) -> str:
    first = next((line for line in error.splitlines() if line.strip()), "")
    return first.replace("|", "/")[-120:]
