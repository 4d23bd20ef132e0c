"""libdevice, NVIDIA's bitcode library of mathematical functions: where it is, and what is in it."""

from __future__ import annotations

import functools
from pathlib import Path

from tri_backend_nvidia.tools import Tool, find
from tri_core.api import ToolchainError

__all__ = ["FUNCTIONS", "LIBDEVICE", "libdevice", "symbol"]

LIBDEVICE = Tool(
    name="libdevice.10.bc",
    distributions=("nvidia-nvvm", "nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu13", "nvidia-cuda-nvcc-cu12"),
    folders=("/usr/local/cuda/nvvm/libdevice",),
)

#: names of operations (MLIR's `math` dialect and Triton's libdevice) -> libdevice's name without prefix
FUNCTIONS: dict[str, str] = {
    "acos": "acos",
    "acosh": "acosh",
    "asin": "asin",
    "asinh": "asinh",
    "atan": "atan",
    "atan2": "atan2",
    "atanh": "atanh",
    "cbrt": "cbrt",
    "cos": "cos",
    "cosh": "cosh",
    "erf": "erf",
    "erfc": "erfc",
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "fmod": "fmod",
    "log": "log",
    "log10": "log10",
    "log1p": "log1p",
    "log2": "log2",
    "powf": "pow",
    "pow": "pow",
    "round": "round",
    "rsqrt": "rsqrt",
    "sin": "sin",
    "sinh": "sinh",
    "tan": "tan",
    "tanh": "tanh",
}


def symbol(name: str, bits: int) -> str | None:
    """libdevice's function for operation ``name`` on floats of ``bits`` (32 or 64), if it has one."""
    function = FUNCTIONS.get(name)
    return None if function is None else f"__nv_{function}{'f' if bits == 32 else ''}"


@functools.cache
def libdevice(override: str | None = None) -> Path:
    """The path of the library; ToolchainError with the remedy when there is none."""
    found = find(LIBDEVICE, override)
    if found is None:
        raise ToolchainError(
            "libdevice.10.bc, which the kernel's mathematical functions come from, is not found",
            remedy="pip install nvidia-cuda-nvcc-cu12, or set TRI_NVIDIA_LIBDEVICE",
            tool="libdevice",
            returncode=None,
            log="",
        )
    return found
