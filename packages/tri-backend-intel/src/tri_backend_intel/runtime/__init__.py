"""The runtime of Intel devices: Level Zero, OpenCL, or SYCL through dpctl."""

from __future__ import annotations

from tri_backend_intel.runtime.runtime import IntelRuntime

__all__ = ["IntelRuntime"]
