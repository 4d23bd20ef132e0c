"""``ttg.async_copy_global_to_local`` and what waits for it, by ``cp.async``."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_nvidia.machine import CopyAsyncOp, CopyCommitOp, CopyWaitOp
from tri_core.ir.views import cast
from tri_core.mlir import ir
from tri_core.passes.origins import is_zero
from tri_gpu_dialect.dialect import AsyncCopyGlobalToLocalOp
from tri_gpu_dialect.layouts import LANE, WARP, vector_access
from tri_gpu_dialect.lowering import Lowered, Lowering, Token
from tri_gpu_dialect.lowering.indices import is_owner
from tri_gpu_dialect.lowering.rules.memory import spread, vectors_of
from tri_gpu_dialect.lowering.table import Rule
from tri_gpu_dialect.lowering.views import addresses, written_part

__all__ = ["RULES", "commit", "copy", "suits", "wait"]

#: bytes that ``cp.async`` moves at once
_WIDTHS = (4, 8, 16)


def _vectors(ctx: Lowering, op: ir.Operation) -> int:
    """Elements per copy: next to each other in global and in shared memory, in the same order."""
    view = op.opview
    global_ = vectors_of(ctx, view.src, view.mask)
    destination = ctx.shared_tensor(cast(op, AsyncCopyGlobalToLocalOp).result)
    shared = vector_access(written_part(ctx, view.src.type, destination), destination.layout, global_.width)
    width = shared.width
    chunks = {g[i : i + width] for g in global_.groups for i in range(0, global_.width, width)}
    return width if all(group in chunks for group in shared.groups) else 1


def suits(ctx: Lowering, op: ir.Operation) -> bool:
    """True if copies are of 4, 8 or 16 bytes and pad with zeros only; others are synchronous."""
    view = op.opview
    if view.other is not None and not is_zero(view.other):
        return False
    element = ctx.shared_tensor(cast(op, AsyncCopyGlobalToLocalOp).result).element
    return _vectors(ctx, op) * element.width // 8 in _WIDTHS


def copy(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """One ``cp.async`` per vector, by the first of the threads that hold it."""
    b, view = ctx.b, op.opview
    destination = ctx.shared_tensor(cast(op, AsyncCopyGlobalToLocalOp).result)
    sources = ctx.registers(view.src)
    masks = None if view.mask is None else spread(ctx.registers(view.mask), len(sources))
    registers = written_part(ctx, view.src.type, destination)
    vectors, width = addresses(ctx, registers, destination, _vectors(ctx, op))
    nbytes = width * destination.element.width // 8
    owner = is_owner(ctx, ctx.layout(view.src.type), (LANE, WARP))  # every CTA has its own memory
    attributes = {"width": ir.IntegerAttr.get(b.i32, nbytes)}
    for group, address in vectors:
        whole = b.int_(nbytes)
        size = whole if masks is None else b.select(masks[group[0]], whole, b.int_(0))
        CopyAsyncOp.build(
            [address, sources[group[0]], size, b.true() if owner is None else owner], (), attributes
        )
    return [Token()]


def commit(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``cp.async.commit_group``."""
    CopyCommitOp.build([])
    return [Token()]


def wait(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``cp.async.wait_group``."""
    groups = ir.IntegerAttr(op.attributes["num"]).value
    CopyWaitOp.build([], (), {"groups": ir.IntegerAttr.get(ctx.b.i32, groups)})
    return [Token()]


RULES: dict[str, Rule] = {"ttg.async_commit_group": commit, "ttg.async_wait": wait}
