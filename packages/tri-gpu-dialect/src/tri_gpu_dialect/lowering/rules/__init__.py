"""The generic rules, at benefit 1, one module per family of ops."""

from __future__ import annotations

from tri_gpu_dialect.lowering.rules import program
from tri_gpu_dialect.lowering.table import LoweringTable, Rule

__all__ = ["generic_table"]

_FAMILIES: tuple[dict[str, Rule], ...] = (program.RULES,)


def generic_table() -> LoweringTable:
    """A new table with the generic rules; add the vendor's and the plugins' to it."""
    table = LoweringTable()
    for rules in _FAMILIES:
        table.update(rules, benefit=1)
    return table
