"""Processes of several compilers side by side: they compile at the same time, then alternate on the device."""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from integration.inductor.children import Child
from integration.inductor.whole.child import Job

__all__ = ["Runner", "race"]

#: seconds that an answer to a word may take beyond those asked for
_PATIENCE = 60


class Runner(Child):
    """A process that does ``job`` with empty caches in ``folder``; ``outcome`` is what is known of it."""

    def __init__(self, job: Job, folder: Path) -> None:
        self.job = job
        self.outcome: dict[str, Any] = {**asdict(job), "right": False, "ms": []}
        super().__init__("integration.inductor.whole", ["--child", json.dumps(asdict(job))], folder)

    def timed(self, word: str, seconds: float = 0) -> dict[str, Any]:
        """The answer to ``word``, which takes about ``seconds``."""
        return self.ask(f"{word} {seconds}", seconds + _PATIENCE)


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
                runner.outcome["device us"] = runner.timed("kernels").get("kernels", {})
            runner.outcome["eager ms"] = _middle(runner.timed("eager", each).get("ms", []))
    finally:
        for runner in runners:
            runner.stop()
    return [runner.outcome for runner in runners]


def _turns(runners: Sequence[Runner], turns: int, each: float) -> None:
    order = list(runners)
    for turn in range(turns):
        random.Random(turn).shuffle(order)
        for runner in order:
            answer = runner.timed("time", each)
            runner.outcome["ms"].append(_middle(answer.get("ms", [])))
            if "error" in answer:
                runner.outcome |= {"right": False, "bad": ["timing"], "said": answer["error"]}


def _middle(times: Sequence[float]) -> float | None:
    return statistics.median(times) if times else None
