"""``python -m integration.programs --target sim:nvidia:sm_90a [--strength 3 | --crossed | --all] [--jobs 8] [--only TEXT]``.

``--done FILE`` writes down the cases that came out right, and leaves out those that the file has: a sweep that was cut
off goes on.  ``--part 1/4`` takes every fourth case from the first on, so that several machines or devices share them;
``--compile-only`` compiles for a target that need not be there, and sees what it refuses; ``--most 200`` takes so many cases.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from random import Random
from typing import get_args

from rich.console import Console
from rich.progress import Progress

from integration.device_arrays import device_of
from integration.programs.program import Case, Scale
from integration.programs.running import Outcome, compiled, outcomes, run
from integration.programs.table import all_cases, choices_of, crossed, sample


def _chosen(options: argparse.Namespace) -> list[Case]:
    choices = choices_of(options.target)
    scale: Scale = options.scale or ("small" if device_of(options.target) is None else "large")
    if options.all or options.crossed:
        found = list((all_cases if options.all else crossed)(choices, scale=scale))
    else:
        found = sample(choices, strength=options.strength, scale=scale)
    cases = [case for case in found if options.only in str(case)]
    if options.most:
        # any of them, the same ones each time
        cases = Random(0).sample(cases, min(options.most, len(cases)))
    number, parts = options.part
    right = _right(options.done)
    return [case for case in cases[number - 1 :: parts] if str(case) not in right]


def _right(done: Path | None) -> frozenset[str]:
    """The cases of the file of ``--done``."""
    return frozenset(done.read_text().splitlines()) if done is not None and done.exists() else frozenset()


def _note(done: Path | None, outcome: Outcome) -> None:
    if done is not None and not outcome.problem:
        with done.open("a") as file:
            file.write(f"{outcome.case}\n")


def _part(text: str) -> tuple[int, int]:
    """The number, from 1, and the count of parts of ``1/4``."""
    number, parts = (int(n) for n in text.split("/"))
    if not 1 <= number <= parts:
        raise ValueError(text)
    return number, parts


def main() -> int:
    """Run the cases; 1 when one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="sim:nvidia:sm_80")
    parser.add_argument("--strength", type=int, default=2, help="every combination of so many options occurs")
    parser.add_argument(
        "--crossed", action="store_true", help="every combination of warps, stages and passes"
    )
    parser.add_argument("--all", action="store_true", help="all combinations")
    parser.add_argument(
        "--scale",
        choices=get_args(Scale),
        help="sizes for simulators, blocks of devices but few of them, or sizes for devices; by default what the target is",
    )
    parser.add_argument("--only", default="", help="cases whose text has this")
    parser.add_argument(
        "--compile-only", action="store_true", help="launch nothing: a GPU target needs no GPU"
    )
    parser.add_argument("--most", type=int, default=0, help="so many cases, chosen evenly; 0 for all")
    parser.add_argument(
        "--part", type=_part, default=(1, 1), help="of so many parts that one: 1/4, for the first of four"
    )
    parser.add_argument("--done", type=Path, help="a file of cases that were right, left out and added to")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    cases = _chosen(options)
    console = Console(soft_wrap=True)
    wrong, refused, slowest = 0, 0, 0.0
    with Progress(console=console) as progress:
        task = progress.add_task(options.target, total=len(cases))
        way = compiled if options.compile_only else run
        for outcome in outcomes(cases, options.target, options.jobs, lambda: progress.advance(task), way):
            wrong, refused = wrong + bool(outcome.problem), refused + bool(outcome.refused)
            _note(options.done, outcome)
            slowest = max(slowest, outcome.seconds)
            if outcome.problem:
                console.print(f"{outcome.case}: {outcome.problem}", style="red", markup=False)
    console.print(
        f"{options.target}: {len(cases)} cases, {wrong} wrong, {refused} refused; the slowest took {slowest:.1f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
