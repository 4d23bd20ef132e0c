"""The lowering rules of TMA copies and their barriers, by what the target has."""

from __future__ import annotations

from tri_backend_nvidia.tma import barriers, copies, descriptors, programs
from tri_core.api import Target
from tri_gpu_dialect.lowering import LoweringTable

__all__ = ["add_rules"]


def add_rules(table: LoweringTable, target: Target) -> None:
    """Add them to ``table``."""
    if target.has("tma"):
        table.update(barriers.RULES)
        table.update(copies.RULES)
        table.update(descriptors.RULES)
        table.update(programs.RULES)
