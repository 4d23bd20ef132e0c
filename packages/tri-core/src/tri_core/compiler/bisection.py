"""Bisection of passes: those from some index on are left out, as by LLVM's ``-opt-bisect-limit``.

Passes that code can be made without are numbered from 1 in each compile, in the order in which they run.  With
``TRI_OPT_BISECT_LIMIT=N`` those behind number N are left out; those that are ``required`` run always.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tri_core import knobs
from tri_core.errors import OptionError
from tri_core.lazy_dataclasses import dataclass
from tri_core.pipeline import Pass

__all__ = ["Bisection", "Numbered", "bisect", "bisection"]


@dataclass(frozen=True)
class Numbered:
    """Pass ``name`` is number ``number`` of the passes of ``kernel`` for ``target`` that may be left out."""

    number: int
    stage: str
    name: str
    kernel: str
    target: str


@dataclass
class Bisection:
    """One compile: which passes it leaves out, and where it says so (``log``, a line of JSON for each)."""

    kernel: str
    target: str
    limit: int | None
    log: Path | None
    count: int = 0

    def leaves_out(self, stage: str, step: Pass) -> bool:
        """True if ``step`` does not run; it is counted."""
        if step.required:
            return False
        self.count += 1
        if self.log is not None:
            found = Numbered(self.count, stage, step.name, self.kernel, self.target)
            with self.log.open("a") as file:
                file.write(json.dumps(vars(found)) + "\n")
        return self.limit is not None and self.count > self.limit


def bisection(kernel: str, target: str) -> Bisection | None:
    """That of a compile, as the knobs say; None where all passes run and nobody asks for their numbers."""
    limit, log = knobs.get("OPT_BISECT_LIMIT"), knobs.get("OPT_BISECT_LOG")
    return None if limit is None and log is None else Bisection(kernel, target, limit, log)


def bisect(command: Sequence[str], *, tell: Callable[[str], None]) -> list[Numbered]:
    """The pass with which ``command`` fails first: the passes that have its number, one for each compile that has so many.

    The command is run again and again, with a cache of its own; it fails where it does not end with 0.  ``tell`` is told what is tried.
    OptionError where it does not fail, and where it fails with the required passes alone.
    """
    with tempfile.TemporaryDirectory(prefix="tri-bisect-") as folder:
        run = _Runs(command, Path(folder), tell)
        if run(None):
            raise OptionError(
                f"{' '.join(command)} ends with 0: there is nothing to look for",
                remedy="have it end with another status where a result is wrong",
            )
        passes = run.numbered()
        if not passes:
            raise OptionError(
                f"{' '.join(command)} fails before a kernel is compiled",
                remedy="run it alone, and read what it says",
            )
        if not run(0):
            raise OptionError(
                f"{' '.join(command)} fails with the required passes alone",
                remedy="look at these, and at the lowering: tri opt --list-passes names them",
            )
        right, wrong = 0, max(each.number for each in passes)
        while wrong - right > 1:
            middle = (right + wrong) // 2
            right, wrong = (middle, wrong) if run(middle) else (right, middle)
        return [each for each in passes if each.number == wrong]


@dataclass
class _Runs:
    command: Sequence[str]
    folder: Path
    tell: Callable[[str], None]

    @property
    def log(self) -> Path:
        return self.folder / "passes.jsonl"

    def __call__(self, limit: int | None) -> bool:
        """True if the command succeeds with ``limit`` passes; None: with all."""
        self.log.unlink(missing_ok=True)
        environment = os.environ | {
            "TRI_OPT_BISECT_LOG": str(self.log),
            "TRI_CACHE_DIR": str(self.folder / "cache"),
        }
        environment.pop("TRI_OPT_BISECT_LIMIT", None)
        if limit is not None:
            environment["TRI_OPT_BISECT_LIMIT"] = str(limit)
        done = subprocess.run(
            self.command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
        )
        self.tell(
            f"{'all' if limit is None else limit} passes: {'right' if done.returncode == 0 else 'wrong'}"
        )
        return done.returncode == 0

    def numbered(self) -> list[Numbered]:
        """Numbered passes of the last run's compiles."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return list(dict.fromkeys(Numbered(**json.loads(line)) for line in lines))
