"""Counts of machine code for AMD: ``python -m integration.bench_amd_static [--triton-python PYTHON] [--record]``; no GPU is needed.

Triton's counts are made anew with a Python that has it, else read from ``integration/tests/bench_amd_static.json``.
``--record`` writes both there; a test holds ours to it.
"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from integration.bench_amd_static.cases import CASES
from integration.bench_amd_static.record import RECORD, measured, read, theirs, write

_COLUMNS = ("loop", "total", "matrix", "vgprs", "agprs", "lds", "waits", "wide", "spills")


def main(
    triton_python: Annotated[str, typer.Option(help="a Python that has Triton")] = "",
    record: Annotated[bool, typer.Option(help="keep these counts as the ones to hold")] = False,
) -> None:
    """Print the table, each count as ``ours (Triton's)``."""
    mine: dict[str, dict[str, int]] = {}
    seconds: dict[str, float] = {}
    for case in CASES:
        found, seconds[case.name] = measured(case)
        mine[case.name] = found.as_dict()
    other = theirs(triton_python) if triton_python else read()["triton"]
    if record:
        write({"tri": mine, "triton": other})
    lines = [f"| kernel | {' | '.join(_COLUMNS)} | s |", "| --- |" + " ---: |" * (len(_COLUMNS) + 1)]
    for name, counts in mine.items():
        pairs = [f"{counts[c]} ({other[name][c] if name in other else '-'})" for c in _COLUMNS]
        lines.append(f"| {name} | {' | '.join(pairs)} | {seconds[name]:.1f} |")
    Console(width=200).print("\n".join(lines), markup=False, highlight=False)
    if record:
        Console().print(f"recorded in {RECORD.name}")


if __name__ == "__main__":
    typer.run(main)
