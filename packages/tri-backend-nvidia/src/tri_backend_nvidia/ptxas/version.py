"""The version of a ptxas: by its own words, asked once for each file."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

from tri_backend_nvidia.ptxas.faults import Version

__all__ = ["version_of_ptxas"]

_VERSION = re.compile(r"\bV(\d+)\.(\d+)\.(\d+)")


def version_of_ptxas(program: Path) -> Version | None:
    """``(12, 9, 86)``; None where ``program`` doesn't say it.  The process takes 7 ms."""
    try:
        changed = program.stat().st_mtime_ns
    except OSError:
        return None
    return _asked(program, changed)


@functools.cache
def _asked(program: Path, changed: int) -> Version | None:
    del changed
    try:
        done = subprocess.run(
            [str(program), "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stdout)
    return tuple(int(part) for part in found.groups()) if found else None
