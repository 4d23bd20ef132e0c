"""The generic rules, at benefit 1, one module per family of ops."""

from __future__ import annotations

from functools import cache

from tri_gpu_dialect.lowering.rules import (
    agreed,
    arithmetic,
    atomics,
    control,
    debug,
    dot,
    elementwise,
    indexed,
    local_dot,
    mapped,
    matrix,
    memory,
    program,
    reduction,
    scanning,
    shapes,
    shared,
)
from tri_gpu_dialect.lowering.table import LoweringTable, Rule

__all__ = ["generic_rule", "generic_table"]

_FAMILIES: tuple[dict[str, Rule], ...] = (
    program.RULES,
    arithmetic.RULES,
    elementwise.RULES,
    mapped.RULES,
    shapes.RULES,
    memory.RULES,
    atomics.RULES,
    control.RULES,
    reduction.RULES,
    scanning.RULES,
    dot.RULES,
    local_dot.RULES,
    indexed.RULES,
    shared.RULES,
    debug.RULES,
)


def generic_table() -> LoweringTable:
    """A new table with the generic rules; add the vendor's and the plugins' to it."""
    table = LoweringTable()
    for rules in _FAMILIES:
        table.update(rules, benefit=1)
    table.add("tt.load", agreed.load, benefit=20, when=agreed.is_agreed)
    table.add("tt.dot", matrix.matrix_dot, benefit=2, when=matrix.is_matrix_dot)
    return table


@cache
def generic_rule(op_name: str) -> Rule:
    """The generic rule of the largest benefit for ``op_name``: for a vendor's that does the same and more."""
    return generic_table().rules[op_name][0].rule
