"""``python -m integration.original --triton-python PYTHON --cases FOLDER``: all checks against Triton 3.9."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import track

from integration.original.checks import (
    ARCHITECTURES,
    Verdict,
    reads_ours,
    refuses_too,
    same_constructs,
    same_promotions,
    takes_a_right_kernel,
    we_read_its,
    wrong_kernels,
)
from integration.original.client import Original
from integration.original.recorder import read_cases


def run(title: str, checks: Iterable[Callable[[], Verdict]], console: Console) -> int:
    """Run ``checks``; print what failed, and how many passed; the number that failed."""
    checks = list(checks)
    verdicts = [_outcome(c) for c in track(checks, title, console=console)]
    failed = [v for v in verdicts if v.problem]
    for reason, count in Counter(_kind(v.problem) for v in failed).most_common():
        first = next(v for v in failed if _kind(v.problem) == reason)
        console.print(f"{count} x {first.case}: {first.problem[:600]}", markup=False)
    excused = Counter(v.excuse for v in verdicts if v.excuse)
    for reason, count in excused.most_common():
        console.print(f"{count} not compared: {reason}", markup=False)
    compared = len(verdicts) - sum(excused.values())
    console.print(f"{title}: {compared - len(failed)} of {compared} pass")
    return len(failed)


def _outcome(check: Callable[[], Verdict]) -> Verdict:
    try:
        return check()
    except Exception as error:  # a check that raises has failed, the others go on
        return Verdict("ours", f"{type(error).__name__}: {error}")


def _kind(problem: str) -> str:
    """The problem without numbers, to group by."""
    return re.sub(r"[\d%\[\]\"./\w-]*\d[\w.]*", "#", problem)[:160]


def main() -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triton-python", default=sys.executable)
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--only", default="", help="run cases whose test's name contains this")
    parser.add_argument("--checks", default="abc")
    options = parser.parse_args()
    console = Console(width=160)
    cases = [c for c in read_cases(options.cases) if options.only in c.test + c.name]
    original = Original(options.triton_python)
    failed = 0
    try:
        if "a" in options.checks:
            failed += run(
                "(a) the original compiles our TTIR",
                [partial(reads_ours, original, c, a) for c in cases for a in ARCHITECTURES],
                console,
            )
        if "b" in options.checks:
            failed += run(
                "(b) we run the original's TTIR",
                [partial(we_read_its, original, c) for c in cases],
                console,
            )
        if "c" in options.checks:
            failed += run(
                "(c) types and refusals",
                [
                    partial(same_promotions, options.triton_python),
                    partial(same_constructs, options.triton_python),
                    partial(takes_a_right_kernel, original),
                    *(partial(refuses_too, original, b) for b in wrong_kernels()),
                ],
                console,
            )
    finally:
        original.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
