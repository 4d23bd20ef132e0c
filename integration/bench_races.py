"""Cost of data race detection: ``python -m integration.bench_races [--target sim:nvidia:sm_90a]``.

Launches with and without it take turns in one process; printed are the medians and their ratio.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import tri
from integration.demo.cases import CASES, Case
from integration.kernels.attention import attention
from integration.kernels.races import gathers, histogram_with_atomics, in_place, scalars
from tri.tools.tensor_descriptor import TensorDescriptor

__all__ = ["launches"]

#: sizes of the demo's kernels here, by name
_INPUTS: dict[str, tuple[tuple[int, ...], ...]] = {
    "vector add": ((100_003,), (100_003,)),
    "softmax": ((64, 1000),),
    "layernorm": ((64, 1000), (1000,), (1000,)),
    "matmul": ((128, 256), (256, 128)),
}


def _attention(random: np.random.Generator) -> Callable[[], object]:
    """Two heads of 256 rows."""
    heads, length, width, m, n = 2, 256, 64, 64, 32
    q, k, v, out = (random.standard_normal((heads * length, width)).astype(np.float16) for _ in range(4))
    lse = np.zeros(heads * length, np.float32)
    blocks = [
        TensorDescriptor.from_tensor(x, [rows, width]) for x, rows in ((q, m), (k, n), (v, n), (out, m))
    ]
    return lambda: attention[(length // m, heads)](
        *blocks, lse, 0.125, length, WIDTH=width, BLOCK_M=m, BLOCK_N=n, CAUSAL=True
    )


def _demo(case: Case, random: np.random.Generator) -> Callable[[], object]:
    given = [random.standard_normal(shape).astype(np.float32) for shape in _INPUTS[case.name]]
    out = np.zeros((128, 128) if case.name == "matmul" else given[0].shape, np.float32)
    return lambda: case.launch(out, *given)


def launches() -> Iterator[tuple[str, Callable[[], object]]]:
    """Names of programs, and a launch of each."""
    random = np.random.default_rng(0)
    for case in CASES:
        if case.name in _INPUTS:
            yield case.name, _demo(case, random)
    yield "attention", _attention(random)
    n = 16_384
    index, bins = random.integers(0, 4096, (2, n)).astype(np.int32)
    x, out = np.ones((2, n), np.float32)
    total = np.zeros(4096, np.int32)
    grid = (n // 512,)
    yield "gather", lambda: gathers[grid](x, index, out, n, BLOCK=512)
    yield "atomic histogram", lambda: histogram_with_atomics[grid](bins, total, n, BLOCK=512)
    yield "in place", lambda: in_place[grid](x, n, BLOCK=512)
    yield "scalars", lambda: scalars[(8,)](x, out, 64)


@contextmanager
def _on(target: str, races: bool) -> Iterator[None]:
    """Launches on ``target``, which is ``interpreter`` or simulated, with and without races looked for."""
    if target == "interpreter":
        with tri.interpret(races=races):
            yield
        return
    with tri.target(target), tri.simulation(report=False, races=races):
        yield


def _seconds(target: str, launch: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Medians without and with."""
    found: dict[bool, list[float]] = {False: [], True: []}
    for round_ in range(repeats + 1):
        for races in (False, True):
            with _on(target, races):
                start = time.perf_counter()
                launch()
            if round_:  # the first compiles
                found[races].append(time.perf_counter() - start)
    return statistics.median(found[False]), statistics.median(found[True])


def main(
    target: Annotated[str, typer.Option(help="interpreter, or sim:BACKEND:ARCH")] = "interpreter",
    repeats: Annotated[int, typer.Option(help="launches of each kind")] = 5,
) -> None:
    """Time launches with and without races looked for."""
    table: Any = Table("program", "without", "with", "ratio", title=f"data races on {target}")
    for name, launch in launches():
        without, looked = _seconds(target, launch, repeats)
        table.add_row(name, f"{without * 1e3:.1f} ms", f"{looked * 1e3:.1f} ms", f"{looked / without:.2f}")
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
