"""The CPU target against PyTorch, on as many threads each: ``python -m integration.bench_cpu [--threads 2]``.

Rounds in which both take turns in shuffled order, a burst of calls each; medians, and ratios of one run (absolute times mean nothing on a
shared machine).  Both keep threads looking out for work after a call, which takes processors from the other: before
its turn each waits until that is over and makes one call that is not timed.  Outputs are poisoned before, errors are
the largest over all elements, against float64.

What the bytes moved and the instructions of the inner loops let expect on a quiet machine: vector add 1.3
(its stores go past the caches), softmax and layernorm 1.5 to 2, matmul 0.8.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

import tri
from integration.kernels.layernorm import layernorm
from integration.kernels.matmul import matmul
from integration.kernels.softmax import softmax
from integration.kernels.vector_add import vector_add

Tensor = Any

#: calls of one candidate in a row, and how many of them come before those that count: worker threads have to wake up,
#: and the other candidate's spin for a while after their last task
BURST, WARM_UP = 8, 3
#: seconds after which neither library's threads look out for work any more
SETTLE = 0.01


@dataclass(frozen=True)
class Case:
    """One measurement: both candidates write ``out``; ``goal`` is the least ratio of PyTorch's time to ours."""

    name: str
    goal: float
    out: Tensor
    tri: Callable[[], object]
    torch: Callable[[], object]
    exact: Tensor


def add_case(n: int) -> Case:
    """``out = x + y`` over n f32."""
    x, y, out = torch.randn(n), torch.randn(n), torch.full((n,), torch.nan)
    block = 1 << 16
    return Case(
        f"vector add {n >> 20}M f32",
        1.0,
        out,
        lambda: vector_add[(tri.cdiv(n, block),)](x, y, out, n, BLOCK=block),
        lambda: torch.add(x, y, out=out),
        x.double() + y.double(),
    )


def softmax_case(rows: int, columns: int) -> Case:
    """Softmax over rows."""
    x, out = torch.randn(rows, columns), torch.full((rows, columns), torch.nan)
    block = tri.next_power_of_2(columns)
    return Case(
        f"softmax {rows}x{columns} f32",
        1.5,
        out,
        lambda: softmax[(rows,)](out, x, columns, columns, columns, BLOCK=block),
        lambda: torch.softmax(x, 1, out=out),
        torch.softmax(x.double(), 1),
    )


def layernorm_case(rows: int, columns: int) -> Case:
    """Layer normalisation over rows, with weight and bias."""
    x, w, b = torch.randn(rows, columns), torch.randn(columns), torch.randn(columns)
    out = torch.full((rows, columns), torch.nan)
    block = tri.next_power_of_2(columns)
    exact = torch.layer_norm(x.double(), (columns,), w.double(), b.double(), 1e-5)
    return Case(
        f"layernorm {rows}x{columns} f32",
        1.5,
        out,
        lambda: layernorm[(rows,)](out, x, w, b, columns, columns, 1e-5, BLOCK=block),
        lambda: torch.layer_norm(x, (columns,), w, b, 1e-5),
        exact,
    )


def matmul_case(n: int, block: tuple[int, int, int]) -> Case:
    """A square matmul."""
    a, b, out = torch.randn(n, n), torch.randn(n, n), torch.full((n, n), torch.nan)
    bm, bn, bk = block
    grid = (tri.cdiv(n, bm) * tri.cdiv(n, bn),)
    return Case(
        f"matmul {n} f32",
        0.5,
        out,
        lambda: matmul[grid](
            a, b, out, n, n, n, n, 1, n, 1, n, 1, BLOCK_M=bm, BLOCK_N=bn, BLOCK_K=bk, GROUP_M=8
        ),
        lambda: torch.mm(a, b, out=out),
        a.double() @ b.double(),
    )


def burst(function: Callable[[], object]) -> list[float]:
    """Seconds of each of BURST calls."""
    taken = []
    for _ in range(BURST):
        start = time.perf_counter()
        function()
        taken.append(time.perf_counter() - start)
    return taken


def measure(case: Case, rounds: int) -> tuple[float, float, float]:
    """Medians in seconds of tri and PyTorch, and tri's largest error."""
    case.out.fill_(torch.nan)
    case.tri()
    error = float((case.out.double() - case.exact).abs().max())
    case.torch()
    seconds: dict[str, list[float]] = {"tri": [], "torch": []}
    for _ in range(rounds):
        for name, function in random.sample([("tri", case.tri), ("torch", case.torch)], 2):
            time.sleep(SETTLE)
            function()
            seconds[name] += burst(function)[WARM_UP:]
    return statistics.median(seconds["tri"]), statistics.median(seconds["torch"]), error


def main(
    threads: Annotated[int, typer.Option(help="for both")] = 2,
    rounds: int = 15,
) -> None:
    """Print one table."""
    torch.set_num_threads(threads)
    os.environ["TRI_CPU_THREADS"] = str(threads)
    cases = [
        add_case(16 << 20),
        softmax_case(4096, 1024),
        layernorm_case(4096, 1024),
        matmul_case(512, (64, 64, 64)),
        matmul_case(1024, (64, 64, 64)),
    ]
    table = Table(title=f"CPU target against PyTorch {torch.__version__}, {threads} threads each")
    for column in ("case", "tri, ms", "PyTorch, ms", "PyTorch / tri", "goal", "max error"):
        table.add_column(column, justify="right")
    with tri.target("cpu"):
        for case in track(cases, "measuring", transient=True):
            ours, theirs, error = measure(case, rounds)
            row = (case.name, f"{ours * 1e3:.3f}", f"{theirs * 1e3:.3f}", f"{theirs / ours:.2f}")
            table.add_row(*row, f"{case.goal:.1f}", f"{error:.1e}")
    Console(width=120).print(table)


if __name__ == "__main__":
    torch.manual_seed(0)
    typer.run(main)
