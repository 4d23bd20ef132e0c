"""The lowering table of an Intel target: the generic rules, those of its 2D blocks, and what plugins add."""

from __future__ import annotations

from tri_backend_intel.lowering import block_reads, tiles
from tri_core.api import CommonOptions, Target
from tri_core.plugins import manager
from tri_gpu_dialect.lowering import LoweringTable, generic_table

__all__ = ["BLOCKS", "make_table"]

#: the feature of targets with 2D block loads and stores
BLOCKS = "2d-block-io"


def make_table(target: Target, options: CommonOptions) -> LoweringTable:
    """The rules of one compile."""
    table = generic_table()
    if target.has("dpas"):
        table.update(tiles.RULES if target.has(BLOCKS) else tiles.SLICES)
    if target.has("dpas") and target.has(block_reads.EXTENSION):
        block_reads.add_rules(table)
    return manager().lowering(table, target, options)
