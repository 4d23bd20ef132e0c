"""Version of a ptxas, queried once for each file, and the version of PTX that it reads."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

from tri_backend_nvidia.ptxas.faults import Version

__all__ = ["architectures_of_ptxas", "newest_ptx", "oldest_capability", "version_of_ptxas"]

_VERSION = re.compile(r"\bV(\d+)\.(\d+)\.(\d+)")
_ARCHITECTURE = re.compile(r"'(sm_\d+[af]?)'")

#: the newest PTX, major times ten plus minor, that ptxas of a release of CUDA reads; source: PTX ISA, "Release Notes"
_NEWEST_PTX = {
    (12, 0): 80, (12, 1): 81, (12, 2): 82, (12, 3): 83, (12, 4): 84, (12, 5): 85, (12, 6): 85, (12, 7): 86, (12, 8): 87,
    (12, 9): 88, (13, 0): 90, (13, 1): 91, (13, 2): 92, (13, 3): 93, (13, 4): 94, (13, 5): 95,
}  # fmt: skip

#: the oldest architecture, as its number, that ptxas of a major release of CUDA knows; source: release notes of CUDA 12.0 and 13.0, "Deprecated
#: and Dropped"; ``ptxas --help`` of 12.9, 13.0 and 13.4
_OLDEST = {12: 50, 13: 75}


def version_of_ptxas(program: Path) -> Version | None:
    """``(12, 9, 86)``; None where ``program`` doesn't say it.  The process takes 2 to 7 ms."""
    found = _VERSION.search(_words(program, "--version"))
    return tuple(int(part) for part in found.groups()) if found else None


def architectures_of_ptxas(program: Path) -> frozenset[str]:
    """``{"sm_75", "sm_90a", ...}``; empty where ``program`` doesn't say it.  The process takes 6 ms."""
    return frozenset(_ARCHITECTURE.findall(_words(program, "--help")))


def newest_ptx(version: Version | None) -> int | None:
    """The newest PTX that ptxas of ``version`` reads, ``87`` for 8.7; None where it is not known: an older or unknown release.

    Of a newer release than the table's: at least that of its newest.
    """
    if version is None:
        return None
    newest = max(_NEWEST_PTX)
    return _NEWEST_PTX.get((version[0], version[1]), _NEWEST_PTX[newest] if version > newest else None)


def oldest_capability(version: Version | None) -> int | None:
    """The oldest architecture that ptxas of ``version`` knows, ``75`` for sm_75; None where the release is unknown."""
    return _OLDEST.get(version[0]) if version and (version[0], version[1]) in _NEWEST_PTX else None


def _words(program: Path, question: str) -> str:
    """Output of ``program``; empty if it cannot be run."""
    try:
        changed = program.stat().st_mtime_ns
    except OSError:
        return ""
    return _asked(program, question, changed)


@functools.cache
def _asked(program: Path, question: str, changed: int) -> str:
    del changed
    try:
        done = subprocess.run(
            [str(program), question], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
