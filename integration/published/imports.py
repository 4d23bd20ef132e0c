"""Importing packages whole, by the names that their users import, each in a process of its own.

Nothing is patched: tri stands in for ``triton``, and that is all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integration.published.importing import MARK
from integration.published.projects import PROJECTS, Project

__all__ = [
    "IMPORTS",
    "NEEDS_A_PACKAGE",
    "REFUSED",
    "Import",
    "attempt",
    "attempts",
    "report",
]

IMPORTS = "imports"
NEEDS_A_PACKAGE = "needs a package"
REFUSED = "fails"
_SECONDS = 600
_TOP = Path(__file__).parents[2]


@dataclass(frozen=True)
class Import:
    """Result of the import of ``module``: ``state``, and the place and reason of its end if it failed."""

    project: str
    module: str
    state: str
    seconds: float = 0.0
    file: str = ""
    line: int = 0
    code: str = ""
    error: str = ""

    def __str__(self) -> str:
        if self.state == IMPORTS:
            return f"{self.project}: import {self.module} ({self.seconds:.1f} s)"
        return f"{self.project}: import {self.module}: {self.state}: {self.file}:{self.line}: {self.code}: {self.error}"


def attempt(project: Project, module: str, folder: Path) -> Import:
    """Import ``module`` in a fresh process."""
    paths = os.pathsep.join([str(_TOP), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, **project.environment, "TORCHDYNAMO_DISABLE": "1", "PYTHONPATH": paths}
    command = [sys.executable, "-W", "ignore", "-m", "integration.published.importing", str(folder), module]
    # some packages write what they generate where they are imported
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(
            command,
            env=environment,
            cwd=place,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    reported = _reported(done.stdout)
    if reported is None:
        last = (done.stderr.strip() or f"status {done.returncode}").splitlines()[-1]
        return Import(project.name, module, REFUSED, error=last)
    return Import(project.name, module, _state(reported["error"]), **reported)


def _reported(output: str) -> dict[str, Any] | None:
    """The last line of a child's output, after whatever the package printed; None where it did not get there."""
    lines = output.strip().splitlines()
    if not lines or not lines[-1].startswith(MARK):
        return None
    found: dict[str, Any] = json.loads(lines[-1].removeprefix(MARK))
    return found


def _state(error: str) -> str:
    if not error:
        return IMPORTS
    missing = error.startswith("ModuleNotFoundError") and "triton" not in error
    return NEEDS_A_PACKAGE if missing else REFUSED


def attempts(names: Sequence[str], folder: Path, *, whole: bool) -> Iterator[Import]:
    """Every module of the packages whose names hold one of ``names``; ``whole``: of the large ones, too."""
    for project in PROJECTS.values():
        # one without its ``__init__`` is imported by its cases
        if (
            project.bare
            or (project.nightly and not whole)
            or (names and not any(n in project.name for n in names))
        ):
            continue
        for module in project.modules:
            yield attempt(project, module, folder)


def report(names: Sequence[str], folder: Path, *, whole: bool) -> int:
    """A line for each import; how many fail."""
    found = []
    for item in attempts(names, folder, whole=whole):
        found.append(item)
        sys.stdout.write(f"{item}\n")
        sys.stdout.flush()
    failed = sum(item.state != IMPORTS for item in found)
    sys.stdout.write(f"{len(found) - failed} of {len(found)} modules import\n")
    return failed
