"""The ``ttg`` dialect."""

from __future__ import annotations

from tri_gpu_dialect.dialect.ttg import TTG

__all__ = ["TTG"]
