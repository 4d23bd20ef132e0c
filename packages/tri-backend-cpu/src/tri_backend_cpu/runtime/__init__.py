"""Loading and launching kernels on this machine's processor."""

from __future__ import annotations

from tri_backend_cpu.runtime.runtime import CpuRuntime

__all__ = ["CpuRuntime"]
