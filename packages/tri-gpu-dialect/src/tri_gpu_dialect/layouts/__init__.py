"""Layouts: linear maps over GF(2) from (register, lane, warp, block) to tensor coordinates."""

from __future__ import annotations

from tri_gpu_dialect.layouts.linear import BLOCK, LANE, OFFSET, REGISTER, WARP, LinearLayout, dim_names

__all__ = ["BLOCK", "LANE", "OFFSET", "REGISTER", "WARP", "LinearLayout", "dim_names"]
