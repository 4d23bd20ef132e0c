"""Counts of machine code for AMD: ``python -m integration.bench_amd_static [--triton-python PYTHON [--compile]] [--record]``; no GPU is needed.

Triton's counts are made anew with a Python that has it, else read from ``integration/tests/bench_amd_static.json``.  ``--compile`` times
both compilers in turns; without it the times are the recorded ones.
``--record`` writes both there; a test holds ours to it.
"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from integration.bench_amd_static.cases import CASES
from integration.bench_amd_static.causes import CAUSES
from integration.bench_amd_static.goals import complaints, goals_of
from integration.bench_amd_static.kinds import KINDS
from integration.bench_amd_static.page import table
from integration.bench_amd_static.record import PAGE, RECORD, measured, read, theirs, timed, write


def main(
    triton_python: Annotated[str, typer.Option(help="a Python that has Triton")] = "",
    compiling: Annotated[
        bool, typer.Option("--compile", help="time compiling, in turns with Triton's")
    ] = False,
    record: Annotated[bool, typer.Option(help="keep these counts as the ones to hold")] = False,
) -> None:
    """Print the table, each count as ``ours (Triton's; goal)``, and what is amiss with goals."""
    mine = {case.name: measured(case) for case in CASES}
    other = theirs(triton_python) if triton_python else read()["triton"]
    if compiling and not triton_python:
        raise typer.BadParameter("--compile takes turns with Triton: say --triton-python")
    timed(mine, other, triton_python if compiling else "")
    if record:
        write({"tri": mine, "triton": other})
    console = Console(width=240, soft_wrap=True)
    console.print(table(mine, other), markup=False, highlight=False)
    goals = goals_of(other, [case.name for case in KINDS])
    for complaint in complaints(mine, goals, CAUSES):
        console.print(complaint, markup=False, highlight=False)
    if record:
        console.print(f"recorded in {RECORD.name} and {PAGE.name}")


if __name__ == "__main__":
    typer.run(main)
