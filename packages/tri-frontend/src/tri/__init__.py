"""tri: kernels written in Python, compiled for any GPU and for the CPU."""

from __future__ import annotations

from tri.jit import JITFunction, jit

__all__ = ["JITFunction", "jit"]
