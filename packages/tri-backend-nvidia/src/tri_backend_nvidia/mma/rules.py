"""The lowering rules of matrices, by what the target has."""

from __future__ import annotations

from tri_backend_nvidia.mma import copies, loads, scaled_rules, stores, warp_group
from tri_core.api import Target
from tri_gpu_dialect.lowering import LoweringTable

__all__ = ["add_rules"]


def add_rules(table: LoweringTable, target: Target) -> None:
    """Add them to ``table``; what they do not suit is left to the generic ones."""
    if target.has("ldmatrix"):
        table.add("ttg.local_load", loads.load_rows, when=loads.suits)
    if target.has("stmatrix"):
        table.add("ttg.local_alloc", stores.allocate, when=stores.suits_allocation)
        table.add("ttg.local_store", stores.store, when=stores.suits_store)
        table.add("ttg.convert_layout", stores.convert, when=stores.suits_conversion)
    if target.has("cp-async"):
        table.add("ttg.async_copy_global_to_local", copies.copy, when=copies.suits)
        table.update(copies.RULES)
    if target.has("mma-block-scale"):
        table.add("tt.dot_scaled", scaled_rules.dot)
    if target.has("wgmma"):
        table.update(warp_group.RULES)
