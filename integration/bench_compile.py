"""Compile times: ``python -m integration.bench_compile [--triton-python PYTHON]``.

Fresh processes, tri and Triton taking turns, each compiling vector add for an H200 (sm_90a) with no cache: the first
compile of the process, and the median of later ones (other constexprs, so nothing is found).  Then the import time, and
the CPU target's cold compiles of the four example kernels.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

TOP = Path(__file__).resolve().parents[1]

COMPILE = """
import json, sys, time
start = time.perf_counter()
import {package} as compiler, {package}.language as tl
{imports}
imported = time.perf_counter() - start

@compiler.jit
def vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)

def seconds(block):
    signature = {{"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}}
    attrs = {{(i,): [["tt.divisibility", 16]] for i in range(4)}}
    start = time.perf_counter()
    kernel = compiler.compile(ASTSource(vector_add, signature, {{"BLOCK": block}}, attrs), target={target})
    assert kernel.asm["cubin"]
    return time.perf_counter() - start

print(json.dumps({{"import": imported, "first": seconds(512), "later": [seconds(b) for b in (1024, 2048, 256, 128, 4096)]}}))
"""

TRI = COMPILE.format(package="tri", imports="from tri import ASTSource", target='"nvidia:sm_90a"')
TRITON = COMPILE.format(
    package="triton",
    imports="from triton.compiler import ASTSource\nfrom triton.backends.compiler import GPUTarget",
    target='GPUTarget("cuda", 90, 32)',
)

CPU = """
import json, sys, time
sys.path.insert(0, {top!r})
import numpy as np
import tri
from integration.demo.cases import CASES
from integration.kernels.vector_add import vector_add
x = np.ones(16, np.float32)
vector_add[(1,)](x, x, x.copy(), 16, BLOCK=16)
times = {{}}
rng = np.random.default_rng(0)
for case in CASES:
    inputs = case.make_inputs(rng)
    out = np.empty(case.out, np.float32)
    start = time.perf_counter()
    case.launch(out, *inputs)
    first = time.perf_counter() - start
    start = time.perf_counter()
    case.launch(out, *inputs)
    times[case.name] = first - (time.perf_counter() - start)
print(json.dumps(times))
"""


def measure(python: str, source: str) -> dict[str, object]:
    """Run ``source`` in a fresh process with empty caches; its last line is JSON."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(source)
        caches = {"TRI_CACHE_DIR": f"{folder}/tri", "TRITON_CACHE_DIR": f"{folder}/triton"}
        command = [python, "-W", "ignore", str(script)]
        done = subprocess.run(
            command, env={**os.environ, **caches}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        result: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
        return result


def _row(results: list[dict[str, object]]) -> dict[str, float]:
    values: dict[str, list[float]] = defaultdict(list)
    for result in results:
        for key, value in result.items():
            values[key].append(statistics.median(value) if isinstance(value, list) else float(str(value)))
    return {key: statistics.median(v) for key, v in values.items()}


def main(
    triton_python: Annotated[str, typer.Option(help="a Python that has Triton")] = "",
    rounds: int = 7,
) -> None:
    """Print one table of medians in ms, and ratios of one run."""
    pythons = {"tri": (sys.executable, TRI)} | ({"triton": (triton_python, TRITON)} if triton_python else {})
    runs: dict[str, list[dict[str, object]]] = defaultdict(list)
    for _ in track(range(rounds), "compiling", transient=True):
        for name, (python, source) in pythons.items():
            runs[name].append(measure(python, source))
        runs["cpu"].append(measure(sys.executable, CPU.format(top=str(TOP))))
    table = Table(title="ms, medians of fresh processes")
    for column in ("", *runs["tri"][0], "ratio to Triton, first", "ratio, later"):
        table.add_column(column, justify="right")
    medians = {name: _row(runs[name]) for name in pythons}
    for name, row in medians.items():
        peer = medians.get("triton", row)
        ratios = [f"{row[key] / peer[key]:.2f}" for key in ("first", "later")]
        table.add_row(name, *(f"{value * 1e3:.1f}" for value in row.values()), *ratios)
    cpu = Table(title="CPU target: cold compile, ms")
    for name, value in _row(runs["cpu"]).items():
        cpu.add_row(name, f"{value * 1e3:.1f}")
    console = Console()
    console.print(table)
    console.print(cpu)


if __name__ == "__main__":
    typer.run(main)
