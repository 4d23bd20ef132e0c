"""Both compilers in processes of their own, which may die: that is a result, too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from integration.strangers.compiling import LIMIT, Job, result_of

__all__ = ["compile_all", "result"]

_TOP = Path(__file__).resolve().parents[2]


def compile_all(jobs: Sequence[Job], kernels: Path, folder: Path, *, python: str = "") -> None:
    """Have ``jobs`` compiled, those that ``folder`` has no result of: by tri, or by Triton where ``python`` has it.

    A process that dies or hangs is replaced by another, which goes on behind the kernel that it died of.
    """
    folder.mkdir(parents=True, exist_ok=True)
    left = [job for job in jobs if not result_of(folder, job).exists()]
    while left:
        last, ended = _run(left, kernels, folder, python)
        if last is None and ended:
            raise RuntimeError(f"the compiler does not start: {ended}")
        if last is not None and not result_of(folder, last).exists():
            result_of(folder, last).write_text(json.dumps({"error": f"the process ends: {ended}"}))
        left = [job for job in left if not result_of(folder, job).exists()]


def _run(jobs: Sequence[Job], kernels: Path, folder: Path, python: str) -> tuple[Job | None, str]:
    """The job that a process came to, and how it ended; an empty text when it did all."""
    with tempfile.TemporaryDirectory() as temporary, tempfile.TemporaryFile("w+") as log:
        listed = Path(temporary, "jobs")
        listed.write_text("".join(f"{key} {target}\n" for key, target in jobs))
        environment = dict(os.environ) | {
            "TRITON_CACHE_DIR": f"{temporary}/triton",
            "TRI_CACHE_DIR": f"{temporary}/tri",
        }
        if python:
            environment["PYTHONPATH"] = str(_TOP)
        command = [python or sys.executable, "-W", "ignore", "-m", "integration.strangers.compiling"]
        with subprocess.Popen(
            [*command, str(kernels), str(folder), str(listed)], env=environment, cwd=_TOP,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            last = None
            # what hangs in native code takes no signal of Python's: the system's ends it
            while line := _line(process):
                key, target = line.split()
                last = (key, target)
        log.seek(0)
        status = process.returncode
        return last, "" if status == 0 else f"status {status}: {log.read()[-600:]}"


def _line(process: subprocess.Popen[str]) -> str:
    """The next line; empty at the end, or where none came in twice the time of a kernel: then the process is ended."""
    import select

    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], 2 * LIMIT)
    if not ready:
        process.kill()
        return ""
    return process.stdout.readline().strip()


def result(folder: Path, job: Job) -> dict[str, Any]:
    """Result of a job that was compiled."""
    found: dict[str, Any] = json.loads(result_of(folder, job).read_text())
    return found
