"""Element ownership of lanes in a piece: ``#xegpu.layout``; and values that the path cannot carry.

Source: MLIR's XeGPU dialect, ``LayoutAttr`` and ``SliceAttr``.  A lane has a column of a piece; what is the same in all lanes, or a row
of them, is a slice of that layout.
"""

from __future__ import annotations

from typing import Any

from tri_backend_intel.xegpu.shares import LANES
from tri_core.errors import Unsupported
from tri_core.locations import source_location
from tri_core.mlir import ir

__all__ = ["LANES", "REMEDY", "lane_layout", "refusal"]

REMEDY = "use path='simt'"


def refusal(op: ir.Operation, why: str) -> Unsupported:
    """The SIMD path cannot carry ``op``."""
    return Unsupported(
        f"the SIMD path has no {op.name}: {why}", location=source_location(op.location), remedy=REMEDY
    )


def lane_layout(*, rows: bool = True, lanes: bool = True) -> Any:
    """Of a piece of rows x lanes, of one ``rows`` alone or one ``lanes`` alone."""
    whole = f"#xegpu.layout<lane_layout = [1, {LANES}], lane_data = [1, 1]>"
    if rows and lanes:
        return ir.Attribute.parse(whole)
    return ir.Attribute.parse(f"#xegpu.slice<{whole}, dims = [{int(rows)}]>")
