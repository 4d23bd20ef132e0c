"""The rule of ``tt.dot_scaled`` where it has an instruction."""

from __future__ import annotations

from tri_backend_amd.mfma import scaled_words
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Lowering, LoweringTable
from tri_gpu_dialect.lowering.rules.matrix import is_matrix_dot

__all__ = ["add_rules"]


def _suits(ctx: Lowering, op: ir.Operation) -> bool:
    return ctx.target.has("mfma") and is_matrix_dot(ctx, op)


def add_rules(table: LoweringTable) -> None:
    """Register the rule."""
    table.add("tt.dot_scaled", scaled_words.dot, when=_suits, owner=f"{__name__}.dot")
