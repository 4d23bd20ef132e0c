"""Math functions in plain arithmetic, for targets whose library has none: see :mod:`.table`."""

from __future__ import annotations

from tri_gpu_dialect.lowering.functions.table import BOUNDS, function

__all__ = ["BOUNDS", "function"]
