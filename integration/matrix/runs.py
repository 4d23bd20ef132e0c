"""One run of the kit in one environment, and what came of it."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from integration.matrix.environments import Environment
from integration.matrix.plan import Pairing

__all__ = ["VERDICTS", "Job", "Outcome", "run"]

VERDICTS = ("passed", "not-applicable", "gap", "known-failure", "failed")
#: seconds after which a run is given up
TIMEOUT = 4 * 3600.0


@dataclass(frozen=True, kw_only=True)
class Job:
    """The kit on ``target`` with the versions of ``pairing``: ``levels`` (none: all), one in ``sample`` cases of each feature."""

    target: str
    pairing: Pairing
    sample: int
    levels: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        """A file name."""
        return f"{self.target.replace(':', '-')}.{self.pairing.name.partition(' ')[0]}"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Verdicts of ``job``; ``right`` is None when it was not run, and ``reason`` says what is wrong or why not.

    ``left_out`` counts cases that were not asked for; ``failures`` are lines ``id: detail``; ``seconds`` are of the wall.
    """

    job: Job
    right: bool | None
    counts: Mapping[str, int] = field(default_factory=dict)
    left_out: int = 0
    seconds: float = 0.0
    reason: str = ""
    failures: tuple[str, ...] = ()


def run(job: Job, environment: Environment, folder: Path) -> Outcome:
    """Run the kit; its JSON, Markdown and output go to ``folder``."""
    files = {suffix: folder / f"{job.slug}.{suffix}" for suffix in ("json", "md", "log")}
    for file in files.values():
        file.unlink(missing_ok=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as cache:
        # a cache of its own: what another run compiled must not hide what this one cannot
        status, output = _kit(job, environment, files, cache)
    files["log"].write_text(output, encoding="utf-8")
    return _read(job, files["json"], status, output, time.monotonic() - start)


def _kit(job: Job, environment: Environment, files: Mapping[str, Path], cache: str) -> tuple[int, str]:
    command = ["-m", "tri_conformance", "--target", job.target, "--sample", str(job.sample)]
    command += ["--level", ",".join(job.levels)]
    command += ["--json", str(files["json"].resolve()), "--report", str(files["md"].resolve())]
    try:
        done = environment.run(*command, timeout=TIMEOUT, TRI_CACHE_DIR=cache)
    except subprocess.TimeoutExpired:
        return -1, f"given up after {TIMEOUT:.0f} s"
    return done.returncode, done.stdout + done.stderr


def _read(job: Job, file: Path, status: int, output: str, seconds: float) -> Outcome:
    if not file.is_file():
        last = " ".join(output.split()[-60:])
        return Outcome(job=job, right=False, seconds=seconds, reason=f"the kit died ({status}): {last}")
    said: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    counts = dict.fromkeys(VERDICTS, 0)
    for level in said["counts"].values():
        for verdict, count in level.items():
            counts[verdict] = counts.get(verdict, 0) + count
    failures = tuple(
        f"{c['id']}: {' '.join(c['detail'].split())}" for c in said["cases"] if c["verdict"] == "failed"
    )
    return Outcome(
        job=job,
        right=status == 0 and bool(said["ok"]) and sum(counts.values()) > 0,
        counts=counts,
        left_out=said["left_out"],
        seconds=seconds,
        reason="" if status == 0 else f"the kit's exit status is {status}",
        failures=failures,
    )
