"""Loads of one word by which the threads of a program decide together: one loads, and tells the others."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.mlir import ir
from tri_gpu_dialect.dialect.markers import OFFSET
from tri_gpu_dialect.lowering.context import Lowered, Lowering
from tri_gpu_dialect.lowering.rules.atomics import reported
from tri_gpu_dialect.lowering.rules.memory import load_tensor, owning_thread

__all__ = ["is_agreed", "load"]


def is_agreed(ctx: Lowering, op: ir.Operation) -> bool:
    """True if ``op`` has scratch memory for broadcasting its result: ``analysis.agreed_loads`` selects such
    loads.
    """
    del ctx
    return OFFSET in op.attributes


def load(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.load`` of a scalar, by one thread."""
    view = op.opview
    owner = owning_thread(ctx, view.ptr.type)
    (found,) = load_tensor(ctx, op, view.ptr, view.mask, view.other, owner)
    return [reported(ctx, op, {0: found}, view.ptr.type, owner)]
