"""Which ptxas is used."""

from __future__ import annotations

import functools
from pathlib import Path

from tri_backend_nvidia.tools import Tool, find, version_of
from tri_core import knobs
from tri_core.api import ToolchainError

__all__ = ["PTXAS", "identity", "ptxas"]

PTXAS = Tool(
    name="ptxas",
    distributions=("nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu13", "nvidia-cuda-nvcc-cu12"),
    folders=("/usr/local/cuda/bin", "/opt/cuda/bin"),
    executable=True,
)


@functools.cache
def ptxas(override: str | None = None) -> Path:
    """The path of ptxas; ToolchainError with the remedy when there is none."""
    found = find(PTXAS, override)
    if found is None:
        raise ToolchainError(
            "ptxas, which turns PTX into machine code, is not found",
            remedy="pip install nvidia-cuda-nvcc-cu12, or set TRI_NVIDIA_PTXAS to one of a CUDA toolkit",
            tool="ptxas",
            returncode=None,
            log="",
        )
    return found


def identity() -> str:
    """What of ptxas enters cache keys; ``"none"`` where it is missing, which the compile then reports."""
    try:
        return version_of(PTXAS, ptxas(knobs.get("NVIDIA_PTXAS")))
    except ToolchainError:
        return "none"
