"""``python -m integration.random_kernels --count 20000 --seed 0 --jobs 8 --triton-python PATH --done FILE``.

The kernels depend on the seed alone, whatever the jobs.  ``--done FILE`` writes down what each batch came to, and leaves
out the batches that the file has: a sweep that was cut off goes on.  ``--part 1/4`` takes every fourth batch, so that
several machines share them.  A failure is shrunk and kept in ``--found``; the sweep goes on until it has ``--failures``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from integration.random_kernels.failures import Failure
from integration.random_kernels.sweep import BATCH, Batch, Result, check_batch
from integration.random_kernels.triton_interpreter import NAME as TRITON
from integration.random_kernels.triton_interpreter import PYTHON_VARIABLE

_TARGETS = "numpy,cpu,interpreter,sim:nvidia:sm_80,sim:nvidia:sm_90a,sim:amd:gfx942,sim:intel:pvc"


def _part(text: str) -> tuple[int, int]:
    """The number, from 1, and the count of parts of ``1/4``."""
    number, parts = (int(n) for n in text.split("/"))
    if not 1 <= number <= parts:
        raise ValueError(text)
    return number, parts


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=2000, help="kernels")
    parser.add_argument(
        "--targets", default="", help=f"by default {_TARGETS}, and {TRITON} when it has a path"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument(
        "--part", type=_part, default=(1, 1), help="of so many parts that one: 1/4, for the first of four"
    )
    parser.add_argument("--done", type=Path, help="a file that says what was done")
    parser.add_argument("--failures", type=int, default=20, help="stop after so many different failures")
    parser.add_argument(
        "--found", type=Path, default=Path(__file__).with_name("found"), help="where failures are kept"
    )
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for a kernel on a target")
    parser.add_argument(
        "--triton-python",
        default=os.environ.get(PYTHON_VARIABLE, ""),
        help=f"a Python with Triton 3.9 and NumPy; by default that of {PYTHON_VARIABLE}",
    )
    return parser.parse_args()


class Tally:
    """What the batches came to, in the file of ``--done`` too."""

    def __init__(self, done: Path | None) -> None:
        self.done = done
        self.batches: set[int] = set()
        self.count = 0
        self.refused: Counter[str] = Counter()
        self.explained: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.failures: list[Failure] = []
        self.failed = 0
        if done is not None and done.exists():
            for line in done.read_text().splitlines():
                self._add(json.loads(line))

    def _add(self, line: dict[str, Any]) -> None:
        self.batches.add(line["batch"])
        self.count += line["count"]
        self.failed += line["failed"]
        self.refused.update(line["refused"])
        self.explained.update(line["explained"])
        for target, seconds in line["seconds"].items():
            self.seconds[target] += seconds

    def add(self, result: Result) -> None:
        """Count a batch, and note it."""
        line = {
            "batch": result.number,
            "count": result.count,
            "failed": len(result.failures),
            "refused": result.refused,
            "explained": result.explained,
            "seconds": {target: round(s, 2) for target, s in result.seconds.items()},
        }
        self._add(json.loads(json.dumps(line)))
        self.failures += result.failures
        if self.done is not None:
            with self.done.open("a") as file:
                file.write(json.dumps(line) + "\n")


def _batches(options: argparse.Namespace, targets: tuple[str, ...], done: set[int]) -> Iterator[Batch]:
    number, parts = options.part
    for batch in range(number - 1, -(-options.count // BATCH), parts):
        if batch not in done:
            first, last = batch * BATCH, min((batch + 1) * BATCH, options.count)
            yield Batch(batch, first, last, options.seed, targets, options.triton_python, options.limit)


def _results(batches: Sequence[Batch], jobs: int, tally: Tally, most: int) -> Iterator[Result]:
    """What the batches come to, as they end; no new ones are begun when there are enough failures."""
    context = multiprocessing.get_context("spawn")
    waiting = list(reversed(batches))
    running: set[Future[Result]] = set()
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        while running or (waiting and len(tally.failures) < most):
            while waiting and len(running) < jobs and len(tally.failures) < most:
                running.add(pool.submit(check_batch, replace(waiting.pop(), known=tuple(tally.failures))))
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in ended)


def _report(console: Console, tally: Tally, targets: Sequence[str], seed: int) -> int:
    for counter, what in ((tally.refused, "times refused"), (tally.explained, "more like")):
        for reason, times in counter.most_common():
            console.print(f"{times} {what}: {reason}", markup=False, highlight=False, soft_wrap=True)
    refused = sum(tally.refused.values())
    spent = ", ".join(
        f"{target} {s / max(tally.count, 1):.3f} s" for target, s in sorted(tally.seconds.items())
    )
    console.print(f"a kernel takes: {spent}", highlight=False, soft_wrap=True)
    names = ", ".join(targets)
    if tally.failed:
        console.print(
            f"{tally.count} random kernels on {names} (seed {seed}): {tally.failed} failures", soft_wrap=True
        )
        return 1
    console.print(
        f"{tally.count} random kernels agree on {names} (seed {seed}); refused: {refused}", soft_wrap=True
    )
    return 0


def main() -> int:
    """Parse the command line and sweep; 1 when there are failures."""
    options = _options()
    default = f"{_TARGETS},{TRITON}" if options.triton_python else _TARGETS
    targets = tuple((options.targets or default).split(","))
    console, tally = Console(), Tally(options.done)
    batches = list(_batches(options, targets, tally.batches))
    with Progress(console=console) as progress:
        task = progress.add_task(
            "random kernels", total=options.count // options.part[1], completed=tally.count
        )
        for result in _results(batches, options.jobs, tally, options.failures):
            tally.add(result)
            for failure in result.failures:
                console.print(failure.text, markup=False, highlight=False, soft_wrap=True)
                console.print(f"kept as {failure.keep(options.found)}", soft_wrap=True)
            progress.update(task, completed=tally.count)
    return _report(console, tally, targets, options.seed)


if __name__ == "__main__":
    sys.exit(main())
