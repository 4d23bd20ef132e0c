"""Has all threads synchronise before a dot whose accumulator is in tensor memory, or a copy to it: one thread starts it, for all.

What the others stored in the accumulator, and loaded from what was in its place, is done then; and nobody is so far behind that
a phase that it waits for is loop-carried again (:mod:`completion`).  Runs last: barriers that are there
already count, so a pipelined loop has one barrier per iteration, as before.
"""

from __future__ import annotations

from typing import ClassVar

from tri_backend_nvidia.tcgen05.ops import TensorMemoryCopyOp, TensorMemoryIndexOp
from tri_core.api import Pass, StageContext
from tri_core.ir.dots import Dot
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import BarrierOp, WarpGroupDotOp, WarpGroupDotWaitOp
from tri_gpu_dialect.edit import SHARED, all_ops, barrier, block_ops, functions

__all__ = ["InsertTcgen05Barriers"]


@dataclass(frozen=True)
class InsertTcgen05Barriers(Pass):
    """See the module; runs after ``insert-barriers``."""

    name: ClassVar[str] = "insert-tcgen05-barriers"
    required: ClassVar[bool] = True
    former_names: ClassVar[tuple[str, ...]] = ("meet-before-dots",)

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Insert ``ttg.barrier`` ops."""
        for function in functions(module):
            for op in [op for op in all_ops(function) if _is_by_one(op)]:
                if not _have_met(op):
                    barrier(ir.InsertionPoint(op), op.location, SHARED)


def _is_by_one(op: ir.Operation) -> bool:
    """True if one thread starts ``op`` for all."""
    if isa(op, WarpGroupDotOp):
        return isinstance(Dot(op).c.type, MemDescType)
    return isa(op, TensorMemoryCopyOp)


def _have_met(started: ir.Operation) -> bool:
    """True if a barrier precedes ``started``, and no access that it has to order lies between."""
    ops = block_ops(started.block)
    for op in reversed(ops[: ops.index(started)]):
        if isa(op, BarrierOp):
            return bool(ir.IntegerAttr(op.attributes["addrSpace"]).value & SHARED)
        if isa(
            op, TensorMemoryIndexOp, TensorMemoryCopyOp
        ):  # copies are the same thread's, which goes in order
            continue
        if len(op.regions) or isa(op, WarpGroupDotOp, WarpGroupDotWaitOp) or op.name.startswith("ttng.tmem_"):
            return False
    return False
