"""Cubins as text, where nvdisasm is installed."""

from __future__ import annotations

import subprocess
import tempfile

from tri_backend_nvidia.tools import Tool, find
from tri_core import knobs
from tri_core.api import ToolchainError

__all__ = ["NVDISASM", "sass"]

NVDISASM = Tool(
    name="nvdisasm",
    distributions=("nvidia-cuda-nvdisasm",),
    folders=("/usr/local/cuda/bin", "/opt/cuda/bin"),
    executable=True,
)


def sass(cubin: bytes) -> str:
    """The machine code of ``cubin`` as text; ToolchainError with the remedy without nvdisasm."""
    program = find(NVDISASM, knobs.get("NVIDIA_NVDISASM"))
    if program is None:
        raise ToolchainError(
            "nvdisasm, which shows the machine code, is not found",
            remedy="pip install nvidia-cuda-nvdisasm, or set TRI_NVIDIA_NVDISASM",
            tool="nvdisasm",
            returncode=None,
            log="",
        )
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run(
            [str(program), "-c", file.name], capture_output=True, text=True, timeout=120, check=False
        )
    if done.returncode != 0:
        raise ToolchainError(
            f"nvdisasm failed: {done.stderr.strip()}",
            remedy="one as new as ptxas is needed: pip install -U nvidia-cuda-nvdisasm",
            tool="nvdisasm",
            returncode=done.returncode,
            log=done.stderr,
        )
    return done.stdout
