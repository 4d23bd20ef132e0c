"""``python -m integration.bench_gpu [CASE ...]``: prints the table, and writes it to ``$OUT`` where that is set.

Times are medians of CUDA events over rounds in which all candidates take turns in shuffled order, the caches flushed
before each, and the device waits until the host has launched.  Both compilers choose from the same configurations.
Errors are the largest over all elements, relative to the largest value, against float64; outputs are poisoned first.
Configurations are compiled in processes beforehand.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from integration.bench_gpu import attention, matmuls, memory
from integration.bench_gpu.case import Case
from integration.bench_gpu.measure import launch_microseconds, measure, warm
from integration.bench_gpu.table import markdown, row

CASES: dict[str, Callable[[], Case]] = {**matmuls.CASES, **attention.CASES, **memory.CASES}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--compilers", default="tri,triton")
    parser.add_argument("--jobs", type=int, default=8, help="processes that compile beforehand")
    parser.add_argument("--warm", action="store_true", help="compile only")
    return parser.parse_args()


def _warm_all(names: Sequence[str], compilers: str, jobs: int) -> None:
    """Each case in a process of its own, ``jobs`` at a time; what fails is told by the measurement."""
    waiting, running = list(names), list[subprocess.Popen[bytes]]()
    while waiting or running:
        while waiting and len(running) < jobs:
            command = [
                sys.executable,
                "-m",
                "integration.bench_gpu",
                "--warm",
                waiting.pop(0),
                "--compilers",
                compilers,
            ]
            running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        running[0].wait()
        running.pop(0)


def _measured(
    names: Sequence[str], compilers: Sequence[str], folder: Path, rounds: int
) -> list[dict[str, object]]:
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    rows = []
    for name in names:
        case = CASES[name]()
        made = measure(case, compilers, folder, rounds, flush)
        rows.append(row(case, made))
        print(markdown(rows[-1:]).splitlines()[-1], flush=True)
        for compiler, measured in made.items():
            for failure in measured.failures:
                print(f"  {compiler}: {failure}", flush=True)
        del case
        torch.cuda.empty_cache()
    return rows


def main() -> None:
    """Run what was asked for."""
    given = _arguments()
    names, compilers = given.cases or list(CASES), given.compilers.split(",")
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if given.warm:
            for name in names:
                warm(CASES[name](), compilers, folder)
            return
        print(torch.cuda.get_device_name(), "torch", torch.__version__)
        _warm_all(names, given.compilers, given.jobs)
        rows = _measured(names, compilers, folder, given.rounds)
        launch = launch_microseconds(compilers, folder)
    print(markdown(rows))
    for kernel, times in launch.items():
        print(f"host time per launch, us, {kernel}:", ", ".join(f"{c} {t:.1f}" for c, t in times.items()))
    if "OUT" in os.environ:
        Path(os.environ["OUT"], "bench_gpu.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
