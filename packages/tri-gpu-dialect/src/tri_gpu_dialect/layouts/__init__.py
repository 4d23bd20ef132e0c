"""Layouts: linear maps over GF(2) from (register, lane, warp, block) to tensor coordinates."""

from __future__ import annotations

from tri_gpu_dialect.layouts.banks import Banks, VectorAccess, bank_conflicts, vector_access
from tri_gpu_dialect.layouts.encoding import layout_for, of
from tri_gpu_dialect.layouts.linear import BLOCK, LANE, OFFSET, REGISTER, WARP, LinearLayout, dim_names
from tri_gpu_dialect.layouts.swizzle import optimal_swizzle
from tri_gpu_dialect.layouts.transposing import TransposingRead

__all__ = [
    "BLOCK",
    "LANE",
    "OFFSET",
    "REGISTER",
    "WARP",
    "Banks",
    "LinearLayout",
    "TransposingRead",
    "VectorAccess",
    "bank_conflicts",
    "dim_names",
    "layout_for",
    "of",
    "optimal_swizzle",
    "vector_access",
]
