"""Rows that are loaded beside blocks, right behind the first of these: they share its stage, which should not wait for them.

q = descriptor_load d[i, 0]; g = descriptor_load e[i, 0]; r = descriptor_load f[base + i]
->  q = descriptor_load d[i, 0]; r = descriptor_load f[base + i]; g = descriptor_load e[i, 0]
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects.tt import DescriptorLoadOp, LoadOp
from tri_core.ir.regions import loops_in
from tri_core.ir.traits import is_rematerializable
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_gpu_dialect.async_units.analysis.slicing import is_row
from tri_gpu_dialect.dialect import LocalAllocOp, LocalLoadOp
from tri_gpu_dialect.edit import block_ops
from tri_gpu_dialect.types import tensor_info

__all__ = ["lift_rows"]

#: ops that write no memory
_PASSED = (DescriptorLoadOp, LoadOp, LocalAllocOp, LocalLoadOp)


def lift_rows(function: ir.Operation) -> None:
    """Move the loads of rows in the loops of ``function`` up, with the numbers that they need."""
    for loop in loops_in(function):
        block = loop.regions[0].blocks[0]
        for row in [op for op in block_ops(block) if isa(op, DescriptorLoadOp) and is_row(op)]:
            _lift(row)


def _lift(row: ir.Operation) -> None:
    """Move one load behind the first block that is loaded before it, if nothing in between forbids that."""
    ops = block_ops(row.block)
    place = ops.index(row)
    first = next(
        (i for i, op in enumerate(ops[:place]) if isa(op, DescriptorLoadOp) and not is_row(op)), None
    )
    if first is None:
        return
    start = first + 1
    while isa(ops[start], DescriptorLoadOp) and is_row(ops[start]):
        start += 1
    between = ops[start:place]
    moving = _needed(row, between)
    if moving is None or not all(is_rematerializable(op) or isa(op, *_PASSED) for op in between):
        return
    moving.append(row)
    anchor = next((op for op in between if op not in moving), None)
    for op in moving if anchor is not None else ():
        op.move_before(anchor)


def _needed(row: ir.Operation, between: Sequence[ir.Operation]) -> list[ir.Operation] | None:
    """Those ops ``between`` that ``row`` needs, in order; None where they are more than numbers."""
    found: list[ir.Operation] = []
    values = set(row.operands)
    for op in reversed(between):
        if not values.intersection(op.results):
            continue
        if not is_rematerializable(op) or any(tensor_info(r.type) is not None for r in op.results):
            return None
        found.insert(0, op)
        values.update(op.operands)
    return found
