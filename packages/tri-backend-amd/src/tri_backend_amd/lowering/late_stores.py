"""Stores to LDS behind a loop's dots of what was loaded before them: what moves registers for a store stays behind the dots.

LLVM orders the store itself behind the barrier in front of it, but not the ``v_perm_b32`` (or shifts, of bytes that were loaded alone) that
put its words together: it hoists those to where registers allow, right behind the loads most often, and with them the wait for the loads.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_amd.dialect.scheduling import SchedBarrierOp
from tri_core.ir.dots import is_dot
from tri_core.ir.views import cast
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.dialect import LocalStoreOp
from tri_gpu_dialect.edit import block_ops
from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.layouts import shared, vector_access
from tri_gpu_dialect.lowering import Lowered, Lowering, LoweringTable, generic_rule
from tri_gpu_dialect.lowering.views import written_part
from tri_gpu_dialect.lowering.words import bit_width
from tri_gpu_dialect.types import tensor_info

__all__ = ["add_rules", "is_late", "moves_registers"]

#: what may cross: matrix instructions (LLVM's "User Guide for AMDGPU Backend", ``llvm.amdgcn.sched.barrier``)
_MATRIX = 0x8
_WORD, _WIDEST = 32, 128


def is_late(op: ir.Operation) -> bool:
    """True if a dot lies between ``op``, a ``ttg.local_store``, and the definition of its value, in one
    block.
    """
    made = cast(op, LocalStoreOp).src.owner
    if isinstance(made, ir.Block) or made.operation.block != op.block:
        return False
    ops = block_ops(op.block)
    return any(is_dot(each) for each in ops[ops.index(made.operation) + 1 : ops.index(op)])


def moves_registers(ctx: Lowering, op: ir.Operation) -> bool:
    """True if stored words of ``op`` are not loaded words: of registers that are not neighbours, or that no
    access loads together.
    """
    store = cast(op, LocalStoreOp)
    view = ctx.shared_tensor(store.dst)
    bits = bit_width(view.element)
    access = vector_access(written_part(ctx, store.src.type, view), view.layout, max(_WIDEST // bits, 1))
    run = min(max(_WORD // bits, 1), access.width)
    if any(group[i] != group[i - i % run] + i % run for group in access.groups for i in range(len(group))):
        return True
    return _together(ctx, store.src, run) < run


def _together(ctx: Lowering, value: ir.Value, most: int) -> int:
    """Number of registers of ``value``, up to ``most``, that one memory access can give: neighbours along the
    dimension that its layout begins with.
    """
    info, own = tensor_info(value.type), encoding_of(value)
    assert info is not None
    dims = own.order[:1] if isinstance(own, Blocked) else range(info.rank)
    orders = [(dim, *(d for d in reversed(range(info.rank)) if d != dim)) for dim in dims]
    layout = ctx.layout(value.type)
    return max(vector_access(layout, shared.row_major(info.shape, order), most).width for order in orders)


def _suits(ctx: Lowering, op: ir.Operation) -> bool:
    return ctx.target.has("mfma") and is_late(op) and moves_registers(ctx, op)


def _store(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    SchedBarrierOp.build([], [], {"mask": ir.IntegerAttr.get(ctx.b.i32, _MATRIX)})
    return generic_rule(op.name)(ctx, op) or []


def add_rules(table: LoweringTable) -> None:
    """Register the rule."""
    table.add("ttg.local_store", _store, when=_suits, owner=f"{__name__}.store")
