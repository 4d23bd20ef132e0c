"""Run the demo and print one table; exit 1 when a kernel is wrong."""

from __future__ import annotations

import statistics
import sys
import time
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

import tri
from integration.demo.arrays import ArrayLibrary, NumPyArrays, TorchArrays
from integration.demo.cases import CASES, Case

REPEATS = 5


def run_case(case: Case, library: ArrayLibrary) -> tuple[float, float, float]:
    """The largest absolute error against float64, seconds of the first call, and of a later one (median)."""
    inputs = case.make_inputs(np.random.default_rng(0))
    device_inputs = [library.to_device(x) for x in inputs]
    # poison: an element that the kernel does not write stays NaN
    out = library.to_device(np.full(case.out, np.nan, dtype=np.float32))
    seconds = []
    for _ in range(1 + REPEATS):
        start = time.perf_counter()
        case.launch(out, *device_inputs)
        library.synchronize()
        seconds.append(time.perf_counter() - start)
    error = float(np.abs(library.to_host(out) - case.oracle(*inputs)).max())
    return error, seconds[0], statistics.median(seconds[1:])


def main(
    target: Annotated[str, typer.Option(help="cpu, or backend[:arch]")] = "cpu",
    torch: Annotated[
        str, typer.Option(help="use PyTorch tensors on this device instead of NumPy arrays")
    ] = "",
) -> None:
    """Vector add, softmax, layernorm and matmul, checked against NumPy in float64."""
    library: ArrayLibrary = TorchArrays(torch) if torch else NumPyArrays()
    console = Console()
    table = Table(title=f"tri on {target}")
    for column in ("kernel", "target", "sizes", "max error", "allowed", "first call", "time"):
        table.add_column(column, justify="left" if column in {"kernel", "target", "sizes"} else "right")
    wrong = 0
    with tri.target(target) as resolved:
        for case in track(CASES, "running", console=console, transient=True):
            error, first, later = run_case(case, library)
            right = error <= case.tolerance  # False for NaN
            wrong += not right
            table.add_row(
                case.name,
                str(resolved),
                case.sizes,
                f"[{'green' if right else 'red'}]{error:.1e}[/]",
                f"{case.tolerance:.0e}",
                f"{first * 1e3:.1f} ms",
                f"{later * 1e3:.3f} ms",
            )
    console.print(table)
    if wrong:
        console.print(f"[red]{wrong} of {len(CASES)} kernels are wrong[/]")
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
