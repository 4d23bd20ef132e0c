"""Choice of ptxas: among those that support the architecture and whose cubins the driver loads, the one with
the fewest faults, then the newest.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tri_backend_nvidia.architectures import ARCHITECTURES
from tri_backend_nvidia.ptxas.faults import Version, faults
from tri_backend_nvidia.ptxas.sound import sound
from tri_backend_nvidia.ptxas.version import (
    architectures_of_ptxas,
    newest_ptx,
    oldest_capability,
    version_of_ptxas,
)
from tri_backend_nvidia.tools import Tool, find, find_all, version_of
from tri_core import knobs
from tri_core.api import ToolchainError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["PTXAS", "Installed", "identity", "preferred", "ptxas", "unknown_architecture"]

logger = logging.getLogger(__name__)

PTXAS = Tool(
    name="ptxas",
    distributions=("nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu13", "nvidia-cuda-nvcc-cu12"),
    folders=("/usr/local/cuda/bin", "/opt/cuda/bin"),
    executable=True,
)

#: where nobody says for what: it has all faults that newer architectures have
_ANY = "sm_90a"


@dataclass(frozen=True)
class Installed:
    """A ptxas at ``place``: its version, None where it doesn't say it, and the architectures that it knows, empty where it doesn't say them."""

    place: Path
    version: Version | None
    architectures: frozenset[str] = frozenset()

    def knows(self, architecture: str) -> bool:
        """True if it supports ``architecture``: this name, and the version of PTX that goes with it."""
        row, ptx = ARCHITECTURES.get(architecture), newest_ptx(self.version)
        if row is not None and ptx is not None and row.ptx > ptx:
            return False
        if self.architectures:
            return architecture in self.architectures
        oldest = oldest_capability(self.version)
        return row is None or oldest is None or row.capability >= oldest

    def is_of_known_release(self) -> bool:
        """True if what it knows is known without asking it."""
        return oldest_capability(self.version) is not None

    def taken(self, driver: int | None) -> bool:
        """True if a driver for CUDA ``driver`` loads its cubins: those of its own major version, and of older
        ones.
        """
        return driver is None or (self.version is not None and self.version[0] <= driver)

    def __str__(self) -> str:
        version = ".".join(map(str, self.version)) if self.version else "of an unknown version"
        return f"{version} ({self.place})"


@functools.cache
def ptxas(override: str | None = None, architecture: str | None = None) -> Path:
    """The path of ptxas for ``architecture`` (``"sm_90a"``; None: for any); ToolchainError with the remedy when there is none.

    One that is the only one, or the override, is not asked what it knows: it says so itself when it doesn't know something.
    """
    places = (find(PTXAS, override),) if override else find_all(PTXAS)
    if not places or places[0] is None:
        raise ToolchainError(
            "ptxas, which turns PTX into machine code, is not found",
            remedy="pip install nvidia-cuda-nvcc-cu12, or set TRI_NVIDIA_PTXAS to one of a CUDA toolkit",
            tool="ptxas",
            returncode=None,
            log="",
        )
    return places[0] if len(places) == 1 else _best([place for place in places if place], architecture)


def _best(places: Sequence[Path], architecture: str | None) -> Path:
    driver = _driver()
    installed = [Installed(place, version_of_ptxas(place)) for place in places]
    if architecture is not None and not _releases_suffice(installed, architecture):
        installed = [replace(each, architectures=architectures_of_ptxas(each.place)) for each in installed]
    found = preferred(installed, driver, architecture)
    if not found.taken(driver):
        logger.warning(
            "the driver here knows CUDA %s, and may not load what ptxas %s makes for %s: update the driver, or %s",
            driver,
            found,
            architecture or "it",
            f"pip install nvidia-cuda-nvcc-cu{driver}",
        )
    return found.place


def _releases_suffice(installed: Sequence[Installed], architecture: str) -> bool:
    """True if one of ``installed`` knows ``architecture`` and none has to be asked: its answer takes four times as long as its version."""
    all_known = architecture in ARCHITECTURES and all(each.is_of_known_release() for each in installed)
    return all_known and any(each.knows(architecture) for each in installed)


def preferred(
    installed: Sequence[Installed], driver: int | None = None, architecture: str | None = None
) -> Installed:
    """Of ``installed`` the one to use for ``architecture``; ``driver``: the major version of CUDA that it knows, None without one.

    Only such as know the architecture; of these one whose cubins the driver takes, if there is one; of these the newest of those with the
    fewest faults.  Equal ones: the first.  ToolchainError where none knows the architecture.
    """
    able = [each for each in installed if architecture is None or each.knows(architecture)]
    if not able:
        raise unknown_architecture(architecture or _ANY, installed)

    def rank(each: Installed) -> tuple[bool, int, Version]:
        return each.taken(driver), -len(faults(each.version, architecture or _ANY)), each.version or ()

    return max(able, key=rank)


def unknown_architecture(architecture: str, installed: Sequence[Installed], log: str = "") -> ToolchainError:
    """The error for an architecture that none of ``installed`` knows, with ptxas's own words where there are such."""
    oldest = min((_number(each) for one in installed for each in one.architectures), default=0)
    if _number(architecture) < oldest:
        remedy = "pip install nvidia-cuda-nvcc-cu12: newer ones don't know this architecture any more"
    else:
        remedy = "pip install -U nvidia-cuda-nvcc: this ptxas is too old for the architecture"
    if len(installed) == 1:
        what = f"ptxas {installed[0]} doesn't know {architecture}"
    else:
        what = f"no ptxas knows {architecture}: {', '.join(map(str, installed))}"
    known = sorted(frozenset().union(*(each.architectures for each in installed)), key=_number)
    return ToolchainError(
        f"{what}; {', '.join(known)} are known" if known else what,
        remedy=f"{remedy}; or set TRI_NVIDIA_PTXAS to one that knows it",
        tool="ptxas",
        returncode=None,
        log=log,
    )


def _number(architecture: str) -> int:
    digits = re.sub(r"\D", "", architecture)
    return int(digits) if digits else 0


def _driver() -> int | None:
    """The major version of CUDA that the driver here knows; asking needs no context."""
    try:
        version, library = ctypes.c_int(), ctypes.CDLL("libcuda.so.1")
        failed = library.cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return None
    return None if failed else version.value // 1000


def identity(architecture: str) -> dict[str, str]:
    """Cache-key entries for ptxas: file, version and rewritings for ``architecture``; ``"none"`` if none is
    found or supports it, which the compile then reports.
    """
    try:
        program = ptxas(knobs.get("NVIDIA_PTXAS"), architecture)
    except ToolchainError:
        return {"ptxas": "none"}
    return {"ptxas": version_of(PTXAS, program), "ptx rewritings": sound(program, architecture).text()}
