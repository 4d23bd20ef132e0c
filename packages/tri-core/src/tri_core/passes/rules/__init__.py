"""The rules of the passes over TTIR, by what they are about; importing this fills the tables."""

from __future__ import annotations

from tri_core.passes.rules import conversions, dots, elementwise, loads, memory, pointers, shapes, sums
from tri_core.passes.rules.table import COMBINE, REORDER, TABLE

__all__ = [
    "COMBINE",
    "REORDER",
    "TABLE",
    "conversions",
    "dots",
    "elementwise",
    "loads",
    "memory",
    "pointers",
    "shapes",
    "sums",
]
