"""The CUDA driver's runtime, through cuda-python."""

from __future__ import annotations

from tri_backend_nvidia.driver.runtime import CudaRuntime

__all__ = ["CudaRuntime"]
