"""The SIMD path: kernels as vectors of whole programs, by XeGPU and upstream's passes down to the machine ops of the SIMT path."""

from __future__ import annotations

from tri_backend_intel.xegpu.choice import chosen_stages
from tri_backend_intel.xegpu.stage import simd_stages

__all__ = ["chosen_stages", "simd_stages"]
