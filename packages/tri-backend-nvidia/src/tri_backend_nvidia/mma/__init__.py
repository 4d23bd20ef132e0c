"""Matrix instructions: ``mma.sync``, what feeds it (``ldmatrix``, ``cp.async``), and how the optimizer learns."""

from __future__ import annotations

from tri_backend_nvidia.mma.encoding import TTNG, NvidiaMma
from tri_backend_nvidia.mma.memory import NvmmaShared
from tri_backend_nvidia.mma.table import matrix_instructions

__all__ = ["TTNG", "NvidiaMma", "NvmmaShared", "matrix_instructions"]
