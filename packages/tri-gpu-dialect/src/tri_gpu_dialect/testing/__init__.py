"""What tests of layouts and lowerings share, here and in the packages of vendors (extra ``testing``)."""

from __future__ import annotations

from tri_gpu_dialect.testing.strategies import distributed, invertible

__all__ = ["distributed", "invertible"]
