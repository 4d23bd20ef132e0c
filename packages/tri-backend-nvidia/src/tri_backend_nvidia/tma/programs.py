"""The rules of programs whose numbers a producer gets from a counter, and forwards through shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_nvidia.machine import AtomicRmwOp
from tri_core.errors import InternalError
from tri_core.ir.views import cast
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import FetchTileOp, ReadTileOp
from tri_gpu_dialect.lowering import Lowered, Lowering
from tri_gpu_dialect.lowering.table import Rule

__all__ = ["RULES"]

_BYTES = 4


def _first(ctx: Lowering) -> ir.Value:
    """Predicate (i1) of the thread that gets the next tile, among those that run the code being lowered."""
    return ctx.b.cmp("eq", ctx.thread, ctx.b.int_(0))


def draw(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.fetch_tile``: ``atom.inc``, which goes back to 0 by itself behind the last ticket."""
    if ctx.counter is None:
        raise InternalError("the kernel has no counter of programs")
    last = ctx.b.sub(ctx.scalar(cast(op, FetchTileOp).total), ctx.b.int_(1))
    names = {"combine": "inc", "kind": "u32", "order": ".relaxed.gpu"}
    attributes = {name: ir.StringAttr.get(word) for name, word in names.items()}
    return [[AtomicRmwOp.build([ctx.counter, last, _first(ctx)], [ctx.b.i32], attributes)[0]]]


def publish(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.broadcast_tile``."""
    number, place = op.operands
    ctx.hw.store_shared(ctx.b, ctx.shared_tensor(place).base, ctx.scalar(number), _first(ctx), _BYTES)
    return []


def read(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.read_tile``: through a shuffle, by which the assembler knows that the number is the same for a warp."""
    b = ctx.b
    found = ctx.hw.load_shared(b, ctx.shared_tensor(cast(op, ReadTileOp).src).base, b.i32, None, _BYTES)
    return [[ctx.hw.shuffle_idx(b, found, b.int_(0))]]


RULES: dict[str, Rule] = {
    "ttg.fetch_tile": draw,
    "ttg.broadcast_tile": publish,
    "ttg.read_tile": read,
}
