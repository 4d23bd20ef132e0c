"""Dots: DPAS, piece by piece."""

from __future__ import annotations

from tri_backend_intel.xegpu.conversion import Conversion, Known, Pieces
from tri_backend_intel.xegpu.layouts import lane_layout
from tri_backend_intel.xegpu.shares import TALL
from tri_core.mlir import ir

__all__ = ["dot"]


def dot(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """Sums of products; an instruction takes up to 8 rows."""
    left, right, total = (ctx.pieces_of(v) for v in list(op.operands)[:3])
    found = []
    for row, column in total.share.indices():
        whole = total.at((row, column))
        tall = whole.type.shape[0]
        parts = []
        for first in range(0, tall, TALL):
            count = min(TALL, tall)
            made = ctx.rows(whole, first, count)
            for k in range(left.share.counts[1]):
                a = ctx.rows(left.at((row, k)), first, count)
                made = _multiply(ctx, a, right.at((k, column)), made)
            parts.append(made)
        found.append(ctx.stacked(parts))
    return [Pieces(total.share, tuple(found))]


def _multiply(ctx: Conversion, a: ir.Value, b: ir.Value, total: ir.Value) -> ir.Value:
    packed = 32 // b.type.element_type.width
    return ctx.one(
        "xegpu.dpas", [a, b, total], total.type,
        layout_a=lane_layout(), layout_b=lane_layout(packed=packed), layout_cd=lane_layout(),
    )  # fmt: skip
