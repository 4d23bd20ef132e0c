"""Instructions of an iteration of the loops of dots at sm_90a: ``python -m integration.steady_loops [--triton-python PYTHON]``.

Kernels of ``integration/kernels`` in configurations that ``integration.bench_gpu`` found fast on an H200; no GPU is needed.
Counted are the machine instructions of a warp that multiplies.  With a Python that has Triton, what Triton's have is written
to ``integration/tests/steady_loops.json``, which the tests compare with.
"""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from integration.steady_loops.cases import CASES
from integration.steady_loops.machine import compiled, steady
from integration.steady_loops.record import RECORD, recorded


def main(triton_python: Annotated[str, typer.Option(help="a Python that has Triton")] = "") -> None:
    """Print the table."""
    mine = {case.name: len(steady(str(compiled(case).asm["sass"]))) for case in CASES}
    if triton_python:
        RECORD.write_text(json.dumps(recorded(triton_python), indent=1) + "\n")
    theirs = json.loads(RECORD.read_text())
    lines = ["| kernel | tri | Triton |", "| --- | ---: | ---: |"]
    lines += [f"| {name} | {count} | {theirs.get(name, '-')} |" for name, count in mine.items()]
    Console(width=120).print("\n".join(lines), markup=False, highlight=False)


if __name__ == "__main__":
    typer.run(main)
