"""The runtime of Intel devices: SYCL queues through dpctl, on Level Zero or OpenCL."""

from __future__ import annotations

from tri_backend_intel.runtime.runtime import IntelRuntime

__all__ = ["IntelRuntime"]
