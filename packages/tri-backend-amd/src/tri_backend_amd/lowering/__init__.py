"""AMD's words for the generic lowering, and the rules that differ from the generic ones."""

from __future__ import annotations

from tri_backend_amd.lowering import (
    block_ops,
    buffers,
    comparisons,
    copies,
    division,
    late_stores,
    microscaling,
    scaled_dots,
    scheduling,
    transposing_reads,
)
from tri_backend_amd.lowering.primitives import AmdPrimitives, make_primitives
from tri_gpu_dialect.lowering import LoweringTable

__all__ = ["AmdPrimitives", "add_rules", "make_primitives"]


def add_rules(table: LoweringTable) -> None:
    """Put the backend's rules into ``table``."""
    buffers.add_rules(table)
    block_ops.add_rules(table)
    copies.add_rules(table)
    microscaling.add_rules(table)
    scaled_dots.add_rules(table)
    scheduling.add_rules(table)
    comparisons.add_rules(table)
    division.add_rules(table)
    transposing_reads.add_rules(table)
    late_stores.add_rules(table)
