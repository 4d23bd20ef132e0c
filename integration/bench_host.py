"""Host costs of a program: ``python -m integration.bench_host [--kernels 200]``.

Processes in which ``import triton`` is tri, launches of a recorded run that compile, first launches from a bundle, and
twelve configurations of a matmul, compiled for an H200 here alone and in worker processes as well.  No device is needed.
Times are of this machine: what counts is the relation, and the medians of a quiet one.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

__all__ = ["main"]

_ASK = "import triton; print(type(triton).__name__)"
#: how a program starts another one -> a program that does, and prints what ``triton`` is there
WAYS: dict[str, str] = {
    **{
        method: f"""
import multiprocessing, tri.compat.triton
def ask():
    import triton
    return type(triton).__name__
if __name__ == "__main__":
    tri.compat.triton.install()
    with multiprocessing.get_context({method!r}).Pool(1) as pool:
        print(pool.apply(ask))
"""
        for method in ("fork", "spawn", "forkserver")
    },
    "subprocess": f"""
import subprocess, sys, tri.compat.triton
tri.compat.triton.install()
subprocess.run([sys.executable, "-c", {_ASK!r}])
""",
    # as torchrun starts its workers: a new process of the same interpreter, for a module, with an environment of its own
    "python -m": f"""
import os, pathlib, subprocess, sys, tri.compat.triton
tri.compat.triton.install()
pathlib.Path("asks.py").write_text({_ASK!r})
subprocess.run([sys.executable, "-u", "-m", "asks"], env={{**os.environ, "RANK": "0", "WORLD_SIZE": "1"}})
""",
}

#: a program that launches kernels of a module for the first time and prints the seconds of each launch
SERVED = """
import json, time
import numpy as np
import os
import kernels, tri

served = tri.serve("bundle", missing="log") if "SERVED" in os.environ else None
x = np.ones(1024, np.float32)
o = np.zeros_like(x)
times = []
for number in range(kernels.COUNT):
    kernel = getattr(kernels, f"kernel_{number}")
    begin = time.perf_counter()
    kernel[(1,)](x, o, 1024, BLOCK=1024)
    times.append(time.perf_counter() - begin)
    assert (o == 2 * number).all()
print(json.dumps([times, len(served.coverage().missing) if served else 0]))
"""
KERNEL = """
@tri.jit
def kernel_{number}(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(x_ptr + at, at < n) * {number} + {number}, at < n)
"""

#: compiles twelve configurations, and prints the seconds
TUNED = """
import time
import tri, tri.language as tl
from tri.tuning.compiling import compile_all

@tri.jit
def matmul(a_ptr, b_ptr, c_ptr, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    k = tl.arange(0, K)
    sums = tl.zeros((M, N), tl.float32)
    for start in range(0, n, K):
        a = tl.load(a_ptr + rows[:, None] * n + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * n + columns[None, :])
        sums = tl.dot(a, b, sums)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], sums.to(tl.float16))

configs = [
    tri.Config({"M": m, "N": n, "K": k}, num_warps=4 if n < 256 else 8, num_stages=stages)
    for m, n in ((64, 128), (128, 128), (128, 256)) for k in (32, 64) for stages in (3, 4)
]
with tri.target("nvidia:sm_90a"):
    def plan(config):
        given = {**config.all_kwargs()}
        return matmul.plan(tl.float16, tl.float16, tl.float16, 4096, **given)
    begin = time.perf_counter()
    good, failed = compile_all(configs, plan, None, lambda: None)
    print(time.perf_counter() - begin)
assert len(good) == 12, failed
"""


def _run(program: str, folder: Path, *arguments: str, **environment: str) -> str:
    (folder / "program.py").write_text(program)
    command = [sys.executable, *(arguments or ("program.py",))]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def _ways(folder: Path) -> str:
    found = {way: _run(program, folder).strip() for way, program in WAYS.items()}
    good = [way for way, kind in found.items() if kind == "StandIn"]
    missing = [way for way in found if way not in good]
    return f"{len(good)} of {len(found)}" + (f", not {', '.join(missing)}" if missing else "")


def _served(folder: Path, count: int) -> tuple[list[float], int, float]:
    """Seconds of each first launch from a bundle, the launches that compiled, and the bundle's MiB."""
    texts = [KERNEL.format(number=number) for number in range(count)]
    head = "import tri\nimport tri.language as tl\n\nCOUNT = " + f"{count}\n"
    (folder / "kernels.py").write_text(head + "".join(texts))
    host = {"TRI_TARGET": "cpu"}
    (folder / "program.py").write_text(SERVED)
    record = ("-m", "tri", "record", "-o", "m.jsonl", "--", sys.executable, "program.py")
    _run(SERVED, folder, *record, TRI_CACHE_DIR=str(folder / "recorded"), **host)
    warm = ("-m", "tri", "warm", "m.jsonl", "-o", "bundle", "-j", str(os.cpu_count() or 1))
    _run(SERVED, folder, *warm, TRI_CACHE_DIR=str(folder / "recorded"), **host)
    text = _run(SERVED, folder, TRI_CACHE_DIR=str(folder / "served"), SERVED="1", **host)
    times, missing = json.loads(text)
    return times, missing, (folder / "bundle").stat().st_size / 2**20


def _tuned(folder: Path) -> tuple[float, float]:
    """Seconds of compiling here alone, and with workers."""
    times = [
        float(_run(TUNED, folder, TRI_CACHE_DIR=str(folder / f"tuned{number}"), **more))
        for number, more in enumerate(({"TRI_COMPILE_WORKERS": "0"}, {}))
    ]
    return times[0], times[1]


def main(
    kernels: Annotated[int, typer.Option(help="kernels of the bundle")] = 200,
) -> None:
    """Print the table."""
    table = Table("what", "measured", "goal")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table.add_row("ways to start a process in which triton is tri", _ways(folder), "5 of 5")
        times, missing, size = _served(folder, kernels)
        table.add_row("launches of a recorded run that compile", str(missing), "0")
        first, median = times[0], statistics.median(times[1:])
        table.add_row(
            f"bundle of {kernels} kernels ({size:.1f} MiB): first launch each, median",
            f"{1e3 * median:.2f} ms; the process's first {1e3 * first:.0f} ms",
            "0.4 ms",
        )
        alone, shared = _tuned(folder)
        cores = os.cpu_count()
        table.add_row(
            f"twelve matmul configurations for sm_90a, {cores} cores: with workers of alone",
            f"{shared / alone:.2f} ({shared:.1f} of {alone:.1f} s)",
            "",
        )
    Console(width=140).print(table)


if __name__ == "__main__":
    typer.run(main)
