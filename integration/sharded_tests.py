"""``python -m integration.sharded_tests [--jobs N] [PYTEST-ARGUMENT ...]``: all tests, in processes that are the same everywhere.

The files of tests are divided into shards by their names.  Each shard runs in a process of its own, with a cache of its own, one file after
the other, so that what a test finds in its process depends neither on the machine's cores nor on how fast other tests were.  What failed is
printed whole, and the sums of all shards and the slowest tests at last; the exit status is that of the worst shard.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SHARDS", "WHEELS", "Outcome", "counts", "main", "slowest"]

TOP = Path(__file__).resolve().parents[1]
#: enough that the last of them does not keep others waiting long, few enough that their starts cost little
SHARDS = 24
#: processes beside each other at most
_MOST_JOBS = 8
#: the variable with the folder of the wheels that tests of several shards install
WHEELS = "TESTS_WHEELS"
#: pytest's exit status where no test was collected
_NONE_COLLECTED = 5
#: tests named at last, and the seconds that they have to take
_SLOWEST, _SLOW = 40, 5
_DURATION = re.compile(r"^([\d.]+)s (?:call|setup|teardown) +(\S.*)$", re.MULTILINE)
_COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?)")


@dataclass(frozen=True)
class Outcome:
    """Result of shard ``index``, from 1: pytest's exit ``status``, its ``text``, and its duration in seconds."""

    index: int
    status: int
    text: str
    seconds: float

    @property
    def is_right(self) -> bool:
        """Nothing failed."""
        return self.status in (0, _NONE_COLLECTED)


def counts(text: str) -> Counter[str]:
    """The numbers in pytest's last line, by what they count."""
    last = text.rstrip().rpartition("\n")[2]
    return Counter({what: int(number) for number, what in _COUNT.findall(last)})


def slowest(texts: Sequence[str]) -> list[tuple[float, str]]:
    """Seconds and names of the tests that took longest in all of ``texts``, the slowest first."""
    found = [(float(seconds), name) for text in texts for seconds, name in _DURATION.findall(text)]
    return sorted(found, reverse=True)[:_SLOWEST]


def _run(index: int, arguments: Sequence[str], wheels: str) -> Outcome:
    before = time.monotonic()
    # a cache of its own: what others compiled must not hide what this one cannot
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "--shard", f"{index}/{SHARDS}"),
                *("-p", "no:xdist", "-o", f"cache_dir=.pytest_cache/{index}-of-{SHARDS}"),
                *(f"--durations={_SLOWEST}", f"--durations-min={_SLOW}", *arguments),
            ],
            cwd=TOP,
            env={**os.environ, "TRI_CACHE_DIR": cache, WHEELS: wheels},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    return Outcome(index, done.returncode, done.stdout, time.monotonic() - before)


def _said(outcome: Outcome) -> str:
    """A line for a shard where nothing failed, else all that pytest printed."""
    if not outcome.is_right:
        return outcome.text
    shown = ", ".join(f"{number} {what}" for what, number in counts(outcome.text).items()) or "no tests"
    return f"shard {outcome.index}/{SHARDS}: {shown} in {outcome.seconds:.0f} s"


def main(given: Sequence[str] | None = None) -> int:
    """Run all shards; the worst exit status, 5 where no shard had a test."""
    parser = argparse.ArgumentParser(prog="integration.sharded_tests", description=__doc__)
    parser.add_argument(
        "--jobs", type=int, default=min(os.cpu_count() or 1, _MOST_JOBS), help="processes beside each other"
    )
    options, arguments = parser.parse_known_args(given)
    before, sums, failed, statuses = time.monotonic(), Counter[str](), list[str](), list[int]()
    texts: list[str] = []
    with tempfile.TemporaryDirectory() as wheels, ThreadPoolExecutor(max(options.jobs, 1)) as pool:
        running = [pool.submit(_run, index, arguments, wheels) for index in range(1, SHARDS + 1)]
        for future in as_completed(running):
            outcome = future.result()
            print(_said(outcome), flush=True)
            sums += counts(outcome.text)
            statuses.append(outcome.status)
            texts.append(outcome.text)
            failed += [line for line in outcome.text.splitlines() if re.match("(FAILED|ERROR) ", line)]
    print(*(f"{seconds:6.1f} s {name}" for seconds, name in slowest(texts)), sep="\n")
    print("\n".join(failed))
    shown = ", ".join(f"{number} {what}" for what, number in sorted(sums.items()))
    print(f"{shown} in {time.monotonic() - before:.0f} s")
    worst = [status for status in statuses if status not in (0, _NONE_COLLECTED)]
    if worst:
        return max(worst, key=abs)
    return 0 if 0 in statuses else _NONE_COLLECTED


if __name__ == "__main__":
    sys.exit(main())
