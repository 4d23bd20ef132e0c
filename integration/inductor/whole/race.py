"""Processes of several compilers side by side: they compile at the same time, then alternate on the device."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from integration.inductor.whole.child import Job

__all__ = ["Runner", "race"]

_CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TRI_CACHE_DIR")
#: seconds that an answer to a word may take beyond those asked for
_PATIENCE = 60


class Runner:
    """A process that does ``job`` with empty caches in ``folder``; ``outcome`` is what is known of it."""

    def __init__(self, job: Job, folder: Path) -> None:
        self.job = job
        self.outcome: dict[str, Any] = {**asdict(job), "right": False, "ms": []}
        self.log = folder / "log"
        folder.mkdir(parents=True)
        environment = {**os.environ, **{name: str(folder / name) for name in _CACHES}}
        self._answers, theirs = os.pipe()
        self._rest = b""
        command = [
            sys.executable,
            "-m",
            "integration.inductor.whole",
            "--child",
            json.dumps(asdict(job)),
            str(theirs),
        ]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=[theirs],
                start_new_session=True,
            )
        os.close(theirs)

    def answer(self, seconds: float) -> dict[str, Any]:
        """The next line that it says within ``seconds``; an error where it ended or said nothing."""
        end = time.monotonic() + seconds
        while b"\n" not in self._rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                return {"error": {"said": f"no answer within {seconds:.0f} s"}}
            more = os.read(self._answers, 1 << 20)
            if not more:
                return {"error": {"said": f"ended with {self._process.wait()}", "at": self._tail()}}
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def ask(self, word: str, seconds: float = 0) -> dict[str, Any]:
        """The answer to ``word``."""
        stream = self._process.stdin
        assert stream is not None
        try:
            stream.write(f"{word} {seconds}\n".encode())
            stream.flush()
        except OSError:
            return {"error": {"said": f"ended with {self._process.wait()}", "at": self._tail()}}
        return self.answer(seconds + _PATIENCE)

    def stop(self) -> None:
        """End it, and its workers."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        os.close(self._answers)

    def _tail(self) -> list[str]:
        return self.log.read_text(errors="replace").splitlines()[-12:]


def race(
    jobs: Sequence[Job], folder: Path, seconds: float, turns: int = 5, each: float = 0.5
) -> list[dict[str, Any]]:
    """Outcomes of ``jobs``, which have ``seconds`` to compile and to compare; then each takes ``turns`` of ``each`` s, shuffled."""
    runners = [Runner(job, folder / f"{job.model}-{job.compiler}") for job in jobs]
    try:
        end = time.monotonic() + seconds
        for runner in runners:
            runner.outcome |= runner.answer(max(0.0, end - time.monotonic()))
        able = [r for r in runners if "error" not in r.outcome or "cold s" in r.outcome]
        _turns(able, turns, each)
        for runner in able:
            if runner.job.device == "cuda":
                runner.outcome["device us"] = runner.ask("kernels").get("kernels", {})
            runner.outcome["eager ms"] = _middle(runner.ask("eager", each).get("ms", []))
    finally:
        for runner in runners:
            runner.stop()
    return [runner.outcome for runner in runners]


def _turns(runners: Sequence[Runner], turns: int, each: float) -> None:
    order = list(runners)
    for turn in range(turns):
        random.Random(turn).shuffle(order)
        for runner in order:
            answer = runner.ask("time", each)
            runner.outcome["ms"].append(_middle(answer.get("ms", [])))
            if "error" in answer:
                runner.outcome |= {"right": False, "bad": ["timing"], "said": answer["error"]}


def _middle(times: Sequence[float]) -> float | None:
    return statistics.median(times) if times else None
