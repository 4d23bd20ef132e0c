"""Ordered barriers (``ttg.ordered_barrier``) in which all groups would synchronise: the others wait for theirs, so nobody would go on."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import LocalAllocOp, OrderedBarrierOp
from tri_gpu_dialect.edit import SHARED, all_ops, block_ops, is_barrier

__all__ = ["ORDERED_BARRIER", "drop_ordered_barriers"]

ORDERED_BARRIER = "ttg.ordered_barrier"


def drop_ordered_barriers(function: ir.Operation) -> None:
    """Erase the ordered barriers of blocks in which threads synchronise between ``wait`` and ``pass``, and all of them where none is left.

    Barriers are known when barriers have been put in and scratch memory has its place.
    """
    ordered = [op for op in all_ops(function) if isa(op, OrderedBarrierOp)]
    waits = [op for op in ordered if _step(op) == "wait"]
    ends = [op for op in ordered if _step(op) in ("open", "close")]
    left = [wait for wait in waits if not _dropped(wait)]
    for op in ends if not left else ():
        op.erase()


def _dropped(wait: ir.Operation) -> bool:
    """Erase the pair that begins with ``wait``, if threads synchronise in it; whether that was so."""
    ops = block_ops(wait.block)
    start = ops.index(wait)
    end = next(i for i in range(start, len(ops)) if isa(ops[i], OrderedBarrierOp) and _step(ops[i]) == "pass")
    if not _synchronizes(ops[start:end]):
        return False
    ops[end].erase()
    wait.erase()
    return True


def _synchronizes(ops: Sequence[ir.Operation]) -> bool:
    return any(_is_barrier(inner) for op in ops for inner in all_ops(op))


def _is_barrier(op: ir.Operation) -> bool:
    """True if all threads synchronise at ``op``, or inside of its lowering through scratch memory."""
    through_scratch = not isa(op, LocalAllocOp) and "allocation.offset" in op.attributes
    return through_scratch or is_barrier(op, SHARED)


def _step(op: ir.Operation) -> str:
    return str(ir.StringAttr(op.attributes["step"]).value)
