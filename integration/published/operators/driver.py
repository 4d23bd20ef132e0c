"""A package's operators, judged in processes of their own: one that ends takes only its operator along."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from integration.published.operators.worker import BEGIN, END
from integration.published.projects import PROJECTS

__all__ = ["ENDED", "verdicts"]

ENDED = "ends the process"
Record = dict[str, Any]


def verdicts(package: str, folder: Path, *, every: int = 1) -> Iterator[Record]:
    """The verdicts on every ``every``-th operator of ``package``; the process is started anew after one that ended it."""
    start: int | None = 0
    while start is not None:
        running: tuple[int, str] | None = None
        last = -1
        status = 0
        for line in _lines(package, folder, start, every):
            if isinstance(line, int):
                status = line
            elif line.startswith(BEGIN):
                number, name = json.loads(line.removeprefix(BEGIN))
                running, last = (number, name), number
            elif line.startswith(END):
                yield json.loads(line.removeprefix(END))
                running = None
        start = None
        if running is not None:
            yield {
                "package": package,
                "name": running[1],
                "state": ENDED,
                "checks": 0,
                "error": 0.0,
                "reason": f"status {status}; interpreted: {_interpreted(package, folder, running[1])}",
            }
            start = last + every
        elif status:
            raise RuntimeError(f"the operators of {package} cannot be listed: status {status}")


def _interpreted(package: str, folder: Path, name: str) -> str:
    """Report of tri's interpreter, which checks each access to memory, on an operator that ended the process."""
    for line in _lines(package, folder, 0, 1, name, interpret=True):
        if isinstance(line, str) and line.startswith(END):
            record = json.loads(line.removeprefix(END))
            return str(record["reason"] or record["state"])
    return "the process ends"


def _lines(
    package: str, folder: Path, start: int, every: int, *names: str, interpret: bool = False
) -> Iterator[str | int]:
    """The lines that a worker prints, then its status."""
    environment = {**os.environ, **PROJECTS[package].environment, "TORCHDYNAMO_DISABLE": "1"}
    if interpret:
        environment["TRI_INTERPRET"] = "1"
    command = [sys.executable, "-W", "ignore", "-m", "integration.published.operators.worker"]
    with subprocess.Popen(
        [*command, package, str(folder), str(start), str(every), *names],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield line.rstrip("\n")
    yield process.returncode
