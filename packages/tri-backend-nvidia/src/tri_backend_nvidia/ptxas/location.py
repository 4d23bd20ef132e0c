"""Which ptxas is used: of several the one with the fewest faults whose cubins the driver takes, the newest of these."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path

from tri_backend_nvidia.ptxas.faults import Version, faults
from tri_backend_nvidia.ptxas.sound import sound
from tri_backend_nvidia.ptxas.version import version_of_ptxas
from tri_backend_nvidia.tools import Tool, find, find_all, version_of
from tri_core import knobs
from tri_core.api import ToolchainError

__all__ = ["PTXAS", "identity", "preferred", "ptxas"]

PTXAS = Tool(
    name="ptxas",
    distributions=("nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu13", "nvidia-cuda-nvcc-cu12"),
    folders=("/usr/local/cuda/bin", "/opt/cuda/bin"),
    executable=True,
)

#: faults are counted for it: it has all of those that newer architectures have
_ARCHITECTURE = "sm_90a"


@functools.cache
def ptxas(override: str | None = None) -> Path:
    """The path of ptxas; ToolchainError with the remedy when there is none."""
    found = find(PTXAS, override) if override else _best()
    if found is None:
        raise ToolchainError(
            "ptxas, which turns PTX into machine code, is not found",
            remedy="pip install nvidia-cuda-nvcc-cu12, or set TRI_NVIDIA_PTXAS to one of a CUDA toolkit",
            tool="ptxas",
            returncode=None,
            log="",
        )
    return found


def _best() -> Path | None:
    places = find_all(PTXAS)
    if len(places) < 2:
        return next(iter(places), None)
    return preferred([(place, version_of_ptxas(place)) for place in places], _driver())


def preferred(places: Sequence[tuple[Path, Version | None]], driver: int | None) -> Path:
    """Of ``places`` with their versions the one to use; ``driver``: the major version of CUDA that it knows, None without one.

    A driver takes cubins of its own major version and of older ones.  Equal ones: the first.
    """

    def rank(place: tuple[Path, Version | None]) -> tuple[bool, int, Version]:
        version = place[1]
        taken = driver is None or (version is not None and version[0] <= driver)
        return taken, -len(faults(version, _ARCHITECTURE)), version or ()

    return max(places, key=rank)[0]


def _driver() -> int | None:
    """The major version of CUDA that the driver here knows; asking needs no context."""
    try:
        version, library = ctypes.c_int(), ctypes.CDLL("libcuda.so.1")
        failed = library.cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return None
    return None if failed else version.value // 1000


def identity(architecture: str) -> dict[str, str]:
    """What of ptxas enters cache keys: file, version and rewritings for ``architecture``; ``"none"`` where it is missing, which the compile then reports."""
    try:
        program = ptxas(knobs.get("NVIDIA_PTXAS"))
    except ToolchainError:
        return {"ptxas": "none"}
    return {"ptxas": version_of(PTXAS, program), "ptx rewritings": sound(program, architecture).text()}
