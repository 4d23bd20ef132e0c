"""Program ids and the grid."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.mlir import ir
from tri_gpu_dialect.lowering.context import Lowered, Lowering
from tri_gpu_dialect.lowering.table import Rule

__all__ = ["RULES"]


def program_id(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.get_program_id``."""
    return [[ctx.hw.program_id(ctx.b, ir.IntegerAttr(op.attributes["axis"]).value)]]


def num_programs(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.get_num_programs``."""
    return [[ctx.hw.num_programs(ctx.b, ir.IntegerAttr(op.attributes["axis"]).value)]]


def grid_size(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.get_grid_size``: a parameter that the launch makes."""
    return [[ctx.grid[ir.IntegerAttr(op.attributes["axis"]).value]]]


def next_tile(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.next_tile`` where nobody hands out programs."""
    return [ctx.lowered(op.operands[0])]


def global_scratch(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.global_scratch_alloc``: this CTA's part of memory that the launch brings."""
    return [[ctx.global_scratch(op)]]


RULES: dict[str, Rule] = {
    "tt.get_program_id": program_id,
    "tt.get_num_programs": num_programs,
    "ttg.get_grid_size": grid_size,
    "ttg.next_tile": next_tile,
    "ttg.global_scratch_alloc": global_scratch,
}
