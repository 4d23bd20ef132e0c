"""Everything that can be recorded here, by processes that may die, brought together in one store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from integration.published.operators.packages import PACKAGES
from integration.strangers.listen import CASES, CODE, INDUCTOR, OWN, PASSES
from integration.strangers.record import Kernel

__all__ = ["SOURCES", "recorded"]

SOURCES = (OWN, CODE, CASES, INDUCTOR, *PACKAGES)
#: seconds for a package and a pass
_LIMIT = 1800
#: what is the same in every pass
_ONCE = frozenset({OWN, CODE, INDUCTOR})


def recorded(folder: Path, names: Sequence[str], passes: int = len(PASSES)) -> Iterator[Kernel]:
    """The kernels of the sources ``names`` (all: :data:`SOURCES`) with packages in ``folder``; what a process wrote before it died counts."""
    for name in names:
        for number in range(1 if name in _ONCE else passes):
            found = _heard(folder, name, number)
            sys.stderr.write(f"{name}, pass {number}: {len(found)} kernels\n")
            yield from found


def _heard(folder: Path, name: str, number: int) -> list[Kernel]:
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary, "kernels")
        command = [sys.executable, "-W", "ignore", "-m", "integration.strangers.listen"]
        caches = ("TORCHINDUCTOR_CACHE_DIR", "TRI_CACHE_DIR", "TRITON_CACHE_DIR")
        environment = os.environ | {variable: f"{temporary}/{variable}" for variable in caches}
        if name != INDUCTOR:
            environment["TORCHDYNAMO_DISABLE"] = "1"
        try:
            subprocess.run(
                [*command, name, str(folder), str(out), str(number)],
                env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=_LIMIT, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            sys.stderr.write(f"{name}, pass {number}: ended after {_LIMIT} s\n")
        whole = out.read_text().rpartition("\n")[0] if out.exists() else ""
        return [Kernel(**json.loads(line)) for line in whole.splitlines()]
