"""Comparisons whose result is the same for neighbours in a thread are made once for all of them.

Masks of rows are: a bound that is a multiple of a vector's width cuts none in two.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.mlir import ir
from tri_gpu_dialect.layouts import shared, vector_access
from tri_gpu_dialect.lowering import Lowered, Lowering, LoweringTable, generic_rule

__all__ = ["add_rules"]


def _runs(ctx: Lowering, op: ir.Operation) -> Sequence[Sequence[int]]:
    """Registers of the result that are the same, the longest such groups along one dimension."""
    type_ = op.results[0].type
    if not isinstance(type_, ir.RankedTensorType):
        return ()
    shape = list(type_.shape)
    found: list[Sequence[Sequence[int]]] = []
    for dim in range(len(shape)):
        run = ctx.axes.constant_run(op.results[0], dim)
        if run > 1:
            order = [dim, *(d for d in reversed(range(len(shape))) if d != dim)]
            found.append(vector_access(ctx.layout(type_), shared.row_major(shape, order), run).groups)
    return max(found, key=lambda groups: max(map(len, groups)), default=())


def _compare_once(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    (made,) = generic_rule(op.name)(ctx, op) or ()
    assert isinstance(made, list)
    for first, *others in _runs(ctx, op):
        for register in others:
            made[register] = made[first]
    return [made]


def _repeats(ctx: Lowering, op: ir.Operation) -> bool:
    return any(len(group) > 1 for group in _runs(ctx, op))


def add_rules(table: LoweringTable) -> None:
    """Register the rule."""
    table.add("arith.cmpi", _compare_once, when=_repeats, owner=f"{__name__}.cmpi")
