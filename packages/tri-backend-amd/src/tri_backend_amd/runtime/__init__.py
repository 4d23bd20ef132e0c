"""The runtime of AMD GPUs: HIP through hip-python."""

from __future__ import annotations

from tri_backend_amd.runtime.runtime import HipRuntime

__all__ = ["HipRuntime"]
