"""``python -m integration.soak --minutes 60 --jobs 8``: soak so many processes; exit 1 if one fails, dies or hangs."""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from integration.soak.watched import Watched

__all__ = ["main"]

_TOP = Path(__file__).resolve().parents[2]
#: actions that are told of a process that failed
_LAST = 5


@dataclass
class Soaked(Watched):
    """A process of random actions."""

    seed: int
    command: list[str]
    environment: dict[str, str]

    def __post_init__(self) -> None:
        self.start(self.command, self.environment)

    def verdict(self) -> str | None:
        """Error of the process; None while it runs, and if there was none."""
        if self.end_if_silent():
            return f"hangs in {self.said[-1:]}"
        code = self.process.poll()
        if not code:
            return None
        how = f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return f"{how} in {self.said[-1:]}"

    def close(self) -> None:
        """It has ended, and what it said is known."""
        self.reader.join(5)
        self.log.close()

    def tell(self, verdict: str) -> None:
        """Say what failed, with the command that does it again."""
        self.reader.join(5)
        print(
            f"\nseed {self.seed} {verdict}, after {len(self.said)} actions: ... {', '.join(self.said[-_LAST:])}"
        )
        print(f"again: {' '.join(self.command)}\n{self.errors()}", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Start the processes, watch them, say how it went."""
    parser = argparse.ArgumentParser(prog="python -m integration.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--seconds", type=float, default=0.0, help="in place of minutes; 20 s by default")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=None, help="drawn, and printed, by default")
    parser.add_argument("--threads", type=int, default=None, help="of launches, per process")
    parser.add_argument("--only", default=None, help="actions, separated by commas")
    given = parser.parse_args(arguments)
    seconds = 60 * given.minutes + given.seconds or 20.0
    seed = random.SystemRandom().randrange(2**31) if given.seed is None else given.seed
    print(f"soaking {given.jobs} processes for {seconds:g} s, seeds from {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="tri-soak-") as cache:
        environment = {**os.environ, "TRI_CACHE_DIR": cache, "MALLOC_ARENA_MAX": "512"}
        soaked = [
            Soaked(seed + i, _command(seed + i, seconds, given), environment) for i in range(given.jobs)
        ]
        failed = _watch(soaked, seconds)
    counts = Counter(name for one in soaked for name in one.said)
    print(
        f"{len(failed)} of {len(soaked)} failed; {', '.join(f'{n} {k}' for k, n in sorted(counts.items()))}"
    )
    return 1 if failed else 0


def _command(seed: int, seconds: float, given: argparse.Namespace) -> list[str]:
    command = [
        sys.executable,
        "-m",
        "integration.soak.process",
        "--seed",
        str(seed),
        "--seconds",
        f"{seconds:g}",
    ]
    if given.threads is not None:
        command += ["--threads", str(given.threads)]
    if given.only is not None:
        command += ["--only", given.only]
    return command


def _watch(soaked: list[Soaked], seconds: float) -> list[Soaked]:
    """Until all have ended; those that did not end right."""
    begin, reported, failed = time.monotonic(), 0.0, list[Soaked]()
    running = list(soaked)
    while running:
        time.sleep(0.2)
        for one in list(running):
            verdict = one.verdict()
            if verdict is not None:
                failed.append(one)
                one.tell(verdict)
            if one.process.poll() is not None:
                one.close()
                running.remove(one)
        passed = time.monotonic() - begin
        if passed - reported > max(10.0, seconds / 20):
            reported = passed
            print(
                f"{passed:.0f} s: {sum(len(one.said) for one in soaked)} actions, {len(failed)} failed",
                flush=True,
            )
    return failed


if __name__ == "__main__":
    sys.exit(main())
