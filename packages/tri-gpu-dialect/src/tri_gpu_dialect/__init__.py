"""The TritonGPU dialect of tri: layouts, the ``ttg`` dialect, analyses, passes and the lowering to LLVM."""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["__version__"]
