"""NVIDIA GPUs for tri: PTX through LLVM, cubins through ptxas, launches through the CUDA driver."""

from __future__ import annotations

__version__ = "0.3.0"

__all__ = ["__version__"]
