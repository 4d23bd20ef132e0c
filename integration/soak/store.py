"""``python -m integration.soak.store --processes 64 --seconds 120``: many processes on one store that meets with everything.

Processes are killed and others started; the folder is cleared, removed, blocked by a file, read-only, full.  It is right when every
result was, no process died by itself or gave more than one warning, the store has no damaged entry afterwards, every kernel of
the set can be had from it, and nothing that a killed process left behind keeps another waiting.
"""

from __future__ import annotations

import argparse
import os
import queue
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from integration.soak.ground import FAULTS, Ground
from integration.soak.sharing import CASES
from integration.soak.watched import SILENCE, Watched

__all__ = ["main"]

_TOP = Path(__file__).resolve().parents[2]
#: seconds for one kernel when nobody else is there: less than a compile waits for another process's claim (60 s)
_ALONE = 45.0
#: seconds after which processes that a killed one had started are gone, too
_ORPHANS = 60.0
KILL = "kill"


def _command(seed: int, cases: int, *more: str) -> list[str]:
    module = [sys.executable, "-m", "integration.soak.sharing"]
    return [*module, "--seed", str(seed), "--cases", str(cases), *more]


@dataclass
class Sharer(Watched):
    """A process on the store; what it says goes to ``heard``, too."""

    seed: int
    folder: Path
    heard: queue.SimpleQueue[str]
    cases: int
    more: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.is_killed = False
        environment = {**os.environ, "TRI_CACHE_DIR": str(self.folder), **self.variables}
        self.start(_command(self.seed, self.cases, *self.more), environment, stdin=subprocess.PIPE)

    def hear(self, line: str) -> None:
        """Take the line down, and pass it on."""
        super().hear(line)
        self.heard.put(line)

    def kill(self) -> None:
        """End it at once."""
        self.is_killed = True
        self.process.kill()

    def ask_to_end(self) -> None:
        """Let it end once its kernel is right."""
        self._hang_up()

    def is_over(self) -> bool:
        """True when it has ended; one that is silent for long is ended."""
        self.end_if_silent()
        return self.process.poll() is not None

    def verdict(self) -> str | None:
        """The fault of a process that has ended; None where there was none."""
        self.reader.join(5)
        warned = [line for line in self.said if line.startswith("warned ")]
        strange = [line for line in warned if not line.startswith("warned CacheWarning ")]
        if len(warned) > 1 or strange:
            return f"warned {len(warned)} times: {warned}"
        if self.is_killed or self.process.returncode == 0:
            return None
        return f"ended with status {self.process.returncode} after {self.said[-3:]}\n{self.errors()}"

    def close(self) -> None:
        """Give back what belonged to it, now that it has ended."""
        self._hang_up()
        self.log.close()

    def _hang_up(self) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def seconds(self) -> list[float]:
        """Seconds of each kernel that was right."""
        return [float(line.split()[2]) for line in self.said if line.startswith("right ")]


@dataclass
class Soak:
    """``processes`` on one store; something happens to them after every ``every``-th word, drawn from ``seed``."""

    ground: Ground
    processes: int
    happenings: list[str]
    every: int
    cases: int
    seed: int
    failures: list[str] = field(default_factory=list)
    happened: Counter[str] = field(default_factory=Counter)
    right: list[float] = field(default_factory=list)
    warned: int = 0
    started: int = 0

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self.heard: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.running: list[Sharer] = []

    def run(self, most: int | None, seconds: float) -> None:
        """Soak until ``most`` things have happened, or, where None, for ``seconds``; then let everything end, mended."""
        end = time.monotonic() + seconds
        words = 0
        self._refill()
        while (sum(self.happened.values()) < most) if most is not None else (time.monotonic() < end):
            try:
                words += self.heard.get(timeout=1.0).startswith("begin ")
            except queue.Empty:
                continue
            finally:
                self._reap()
            if words >= self.every:
                words = 0
                self._happen()
            self._refill()
        self.ground.mend()
        for sharer in self.running:
            sharer.ask_to_end()
        while self.running:
            time.sleep(0.1)
            self._reap()

    def _refill(self) -> None:
        while len(self.running) < self.processes:
            self.started += 1
            self.running.append(Sharer(self.seed + self.started, self.ground.folder, self.heard, self.cases))

    def _reap(self) -> None:
        for sharer in [s for s in self.running if s.is_over()]:
            self.running.remove(sharer)
            self._close(sharer)

    def _close(self, sharer: Sharer) -> None:
        verdict = sharer.verdict()
        if verdict is not None:
            self.failures.append(f"process {sharer.seed - self.seed} (seed {sharer.seed}) {verdict}")
        self.right += sharer.seconds()
        self.warned += any(line.startswith("warned ") for line in sharer.said)
        sharer.close()

    def _happen(self) -> None:
        """The next of the happenings in turn, at any moment of a compile."""
        name = self.happenings[sum(self.happened.values()) % len(self.happenings)]
        time.sleep(self.draw.random() * 0.05)
        if name == KILL:
            self.draw.choice(self.running).kill()
            self.happened["killed"] += 1
            return
        self.ground.mend()
        pids = [sharer.process.pid for sharer in self.running]
        self.happened[FAULTS[name](self.ground, pids)] += 1

    def judge(self) -> None:
        """Check the store that is left behind: every kernel of the set, by one process that makes what is missing, and one that may not."""
        for variables in ({}, {"TRI_NO_COMPILE": "1"}):
            alone = Sharer(
                self.seed, self.ground.folder, queue.SimpleQueue(), self.cases, ("--once",), variables
            )
            while not alone.is_over():
                time.sleep(0.05)
            self._close(alone)
            seconds = alone.seconds()
            if len(seconds) != self.cases:
                self.failures.append(f"{len(seconds)} of {self.cases} kernels were right with {variables}")
            if max(seconds, default=0.0) > _ALONE:
                self.failures.append(f"a kernel took {max(seconds):.0f} s, with nobody else there")
        verify = [sys.executable, "-m", "tri", "cache", "verify"]
        environment = {**os.environ, "TRI_CACHE_DIR": str(self.ground.folder)}
        done = subprocess.run(
            verify, cwd=_TOP, env=environment, capture_output=True, text=True, check=False, timeout=SILENCE
        )
        print(f"tri cache verify: {done.stdout.strip()}", flush=True)
        if done.returncode:
            self.failures.append(f"tri cache verify: {done.stdout}{done.stderr}")
        orphans = _orphans(self.ground.folder)
        if orphans:
            self.failures.append(f"left running: {orphans}")


def _orphans(folder: Path) -> list[str]:
    """Commands of processes that still use the store in ``folder``, after a while; none where /proc does not tell."""
    needle, end = f"TRI_CACHE_DIR={folder}".encode(), time.monotonic() + _ORPHANS
    while True:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if needle in (process / "environ").read_bytes().split(b"\0"):
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.2)


def main(arguments: list[str] | None = None) -> int:
    """Soak, judge, and say how it went; 1 if anything was wrong."""
    names = [KILL, *FAULTS]
    parser = argparse.ArgumentParser(prog="python -m integration.soak.store", description=__doc__)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument(
        "--happenings", type=int, default=None, help="end after so many, not after some seconds"
    )
    parser.add_argument("--every", type=int, default=4, help="kernels begun between two happenings")
    parser.add_argument("--cases", type=int, default=len(CASES), help="kernels in the set")
    parser.add_argument("--seed", type=int, default=None, help="drawn, and printed, by default")
    parser.add_argument("--only", default=",".join(names), help=f"of {', '.join(names)}")
    given = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(2**31) if given.seed is None else given.seed
    print(f"soaking a store with {given.processes} processes, seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="tri-soak-") as root:
        soak = Soak(
            Ground(Path(root)), given.processes, given.only.split(","), given.every, given.cases, seed
        )
        try:
            soak.run(given.happenings, given.seconds)
            soak.judge()
        finally:
            soak.ground.mend()
            for sharer in soak.running:
                sharer.kill()
    happened = ", ".join(f"{n} times {what}" for what, n in sorted(soak.happened.items()))
    print(
        f"{soak.started} processes, {len(soak.right)} kernels right, the slowest after {max(soak.right, default=0):.1f} s; "
        f"{happened}; {soak.warned} processes warned; {len(soak.failures)} failures"
    )
    for failure in soak.failures:
        print(f"\n{failure}", flush=True)
    return 1 if soak.failures else 0


if __name__ == "__main__":
    sys.exit(main())
