"""The rules of canonicalization, by what they are about; importing this fills the table."""

from __future__ import annotations

from tri_core.passes.rules import elementwise, memory, pointers, products, shapes
from tri_core.passes.rules.table import TABLE

__all__ = ["TABLE", "elementwise", "memory", "pointers", "products", "shapes"]
