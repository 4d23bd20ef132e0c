"""The command line of a sweep over a family of random kernels."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from integration.random_kernels.failures import Failure
from integration.random_kernels.family import KERNELS, Family
from integration.random_kernels.sweep import BATCH, Batch, Result, check_batch
from integration.random_kernels.triton_interpreter import NAME as TRITON
from integration.random_kernels.triton_interpreter import PYTHON_VARIABLE


def _part(text: str) -> tuple[int, int]:
    """The number, from 1, and the count of parts of ``1/4``."""
    number, parts = (int(n) for n in text.split("/"))
    if not 1 <= number <= parts:
        raise ValueError(text)
    return number, parts


def _options(description: str, targets: str, found: Path, triton: bool) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=2000, help="kernels")
    parser.add_argument(
        "--targets", default="", help=f"by default {targets}" + f", and {TRITON} when it has a path" * triton
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument(
        "--part", type=_part, default=(1, 1), help="of so many parts that one: 1/4, for the first of four"
    )
    parser.add_argument("--done", type=Path, help="a file that says what was done")
    parser.add_argument("--failures", type=int, default=20, help="stop after so many different failures")
    parser.add_argument("--found", type=Path, default=found, help="where failures are kept")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for a kernel on a target")
    parser.add_argument(
        "--schedules",
        type=int,
        default=0,
        metavar="N",
        help="orders of each launch in simulators, besides the usual one",
    )
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no batch after so many")
    parser.add_argument(
        "--triton-python",
        default=os.environ.get(PYTHON_VARIABLE, "") if triton else "",
        help=f"a Python with Triton 3.9 and NumPy; by default that of {PYTHON_VARIABLE}",
    )
    return parser.parse_args()


class Tally:
    """Counts of the batches' results, in the file of ``--done`` too."""

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


def _batches(
    family: Family, options: argparse.Namespace, targets: tuple[str, ...], done: set[int]
) -> Iterator[Batch]:
    number, parts = options.part
    for batch in range(number - 1, -(-options.count // BATCH), parts):
        if batch not in done:
            first, last = batch * BATCH, min((batch + 1) * BATCH, options.count)
            yield Batch(
                batch, first, last, options.seed, targets, options.triton_python, options.limit,
                family=family, schedules=options.schedules,
            )  # fmt: skip


def _results(batches: Sequence[Batch], jobs: int, tally: Tally, most: int, end: float) -> Iterator[Result]:
    """Results of the batches, as they end; no new ones are begun when there are enough failures, or after
    ``end``.
    """
    context = multiprocessing.get_context("spawn")
    waiting = list(reversed(batches))

    def more() -> bool:
        return bool(waiting) and len(tally.failures) < most and time.monotonic() < end

    running: set[Future[Result]] = set()
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        while running or more():
            while more() and len(running) < jobs:
                running.add(pool.submit(check_batch, replace(waiting.pop(), known=tuple(tally.failures))))
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in ended)


def _report(console: Console, tally: Tally, what: str, targets: Sequence[str], seed: int) -> int:
    for counter, name in ((tally.refused, "times refused"), (tally.explained, "more like")):
        for reason, times in counter.most_common():
            console.print(f"{times} {name}: {reason}", markup=False, highlight=False, soft_wrap=True)
    refused = sum(tally.refused.values())
    spent = ", ".join(
        f"{target} {s / max(tally.count, 1):.3f} s" for target, s in sorted(tally.seconds.items())
    )
    console.print(f"a kernel takes: {spent}", highlight=False, soft_wrap=True)
    names = ", ".join(targets)
    if tally.failed:
        console.print(
            f"{tally.count} {what} on {names} (seed {seed}): {tally.failed} failures", soft_wrap=True
        )
        return 1
    console.print(f"{tally.count} {what} agree on {names} (seed {seed}); refused: {refused}", soft_wrap=True)
    return 0


def main(family: Family, description: str | None, targets: str, found: Path) -> int:
    """Parse the command line and sweep over ``family``, on ``targets`` where none are given; 1 when there are failures."""
    has_triton = family is KERNELS
    options = _options(description or "", targets, found, has_triton)
    default = f"{targets},{TRITON}" if options.triton_python else targets
    chosen = tuple((options.targets or default).split(","))
    console, tally = Console(), Tally(options.done)
    batches = list(_batches(family, options, chosen, tally.batches))
    end = time.monotonic() + 60 * options.minutes
    with Progress(console=console) as progress:
        task = progress.add_task(family.what, total=options.count // options.part[1], completed=tally.count)
        for result in _results(batches, options.jobs, tally, options.failures, end):
            tally.add(result)
            for failure in result.failures:
                console.print(failure.text, markup=False, highlight=False, soft_wrap=True)
                console.print(f"kept as {failure.keep(options.found, family.save)}", soft_wrap=True)
            progress.update(task, completed=tally.count)
    return _report(console, tally, family.what, chosen, options.seed)
