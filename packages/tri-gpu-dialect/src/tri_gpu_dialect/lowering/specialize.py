"""The body of a kernel, and warp specialisation: partitions by warp.

    before; ttg.warp_specialize default { d } partition0 { p } ...; after

becomes

    before                      all warps, those of partitions too
    if warp < num_warps:  d; after
    else:                 by ranges of warps: p, ...

Warps that no region wants leave.  The role is the warp's index, made uniform by a shuffle, so that the branches are
taken by whole warps for sure.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.errors import Unsupported, VerificationError
from tri_core.ir.regions import ends_region, is_control
from tri_core.ir.traits import is_rematerializable, is_view
from tri_core.ir.views import isa
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import LocalAllocOp, WarpSpecializeOp
from tri_gpu_dialect.dialect.partitions import (
    NAME,
    Partition,
    default_block,
    default_registers,
    partitions,
)
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.lowering.context import Lowered, Lowering, WarpPartition

__all__ = ["lower_body"]

#: what all warps may do together before partitions are given, beside computing: memory that one thread makes ready
_BEFORE = frozenset(
    {"tt.load", "ttg.local_alloc", "ttg.init_barrier", "ttg.barrier", "tt.make_tensor_descriptor"}
)


def lower_body(ctx: Lowering, block: ir.Block, arguments: Sequence[Lowered]) -> None:
    """Lower the block of a kernel here; at most one op of it is a ``ttg.warp_specialize``."""
    ops = [view.operation for view in block.operations][:-1]
    found = [i for i, op in enumerate(ops) if isa(op, WarpSpecializeOp)]
    if not found:
        ctx.lower_block(block, arguments)
        return
    ctx.values.update(zip(block.arguments, arguments, strict=True))
    special = ops[found[0]]
    with special.location:
        _specialized(ctx, ops[: found[0]], special, ops[found[0] + 1 :])


def _specialized(
    ctx: Lowering, before: list[ir.Operation], op: ir.Operation, after: list[ir.Operation]
) -> None:
    b, raw, own = ctx.b, ctx.warp, ctx.num_warps
    parts = _checked(ctx, op)
    # the partitions' warps do the same as others before: what they compute is not used, but must be in bounds
    ctx.warp = b.and_(raw, b.int_(own - 1))
    for each in before:
        _check_before(each)
        ctx.lower_op(each)
    warp = ctx.hw.shuffle_idx(b, raw, b.int_(0))
    captures = [ctx.lowered(value) for value in op.operands]

    def default() -> list[ir.Value]:
        _registers(ctx, default_registers(op))
        with ctx.as_partition(WarpPartition(own, barrier=1), warp):
            results = ctx.lower_block(default_block(op))
            ctx.values.update(zip(op.results, results, strict=True))
            for each in after:
                ctx.lower_op(each)
        _leave(ctx)
        return []

    def others() -> list[ir.Value]:
        _partitions(ctx, sorted(enumerate(parts), key=lambda p: p[1].first), warp, captures)
        return []

    b.if_(b.cmp("ult", warp, b.int_(own)), default, others)


def _checked(ctx: Lowering, op: ir.Operation) -> list[Partition]:
    """The partitions, which have warps to run on."""
    parts = partitions(op, ctx.num_warps)
    need = max([ctx.num_warps, *(p.end for p in parts)])
    if need > ctx.hw.num_warps:
        raise VerificationError(
            f"{NAME} needs {need} warps, the module has {ctx.hw.num_warps}",
            remedy=f"give the module ttg.total-num-warps = {need} : i32",
            location=source_location(op.location),
        )
    return parts


def _check_before(op: ir.Operation) -> None:
    """Unsupported for what must not be done by warps of partitions as well."""
    for each in reversed(all_ops(op)):
        name = each.name
        fills = isa(each, LocalAllocOp) and len(each.operands)
        known = (
            is_rematerializable(each)
            or name in _BEFORE
            or is_control(each)
            or is_view(each)
            or ends_region(each)
        )
        if fills or not known:
            raise Unsupported(
                f"{name} before {NAME}",
                remedy="move it into the default region",
                location=source_location(each.location),
            )


def _registers(ctx: Lowering, count: int) -> None:
    if count:
        ctx.hw.set_registers(ctx.b, count)


def _partitions(
    ctx: Lowering, parts: list[tuple[int, Partition]], warp: ir.Value, captures: Sequence[Lowered]
) -> None:
    """Each warp of a partition runs it; budgets of registers are set where ranges of warps part, before partitions do."""
    if not parts:
        return
    first = parts[0][1]
    same = [p for p in parts if p[1].registers == first.registers]
    others = [p for p in parts if p[1].registers != first.registers]
    if others and others[0][1].first < same[-1][1].end:
        raise VerificationError(f"{NAME}: partitions of equal registers are not next to each other")
    b = ctx.b

    def here() -> list[ir.Value]:
        _registers(ctx, first.registers)
        for number, part in same:
            low, high = b.int_(part.first), b.int_(part.end)
            mine = b.and_(b.cmp("uge", warp, low), b.cmp("ult", warp, high))
            b.if_(mine, lambda n=number, p=part: _partition(ctx, n, p, warp, captures))  # type: ignore[misc]
        return []

    def there() -> list[ir.Value]:
        _partitions(ctx, others, warp, captures)
        return []

    if others:
        b.if_(b.cmp("ult", warp, b.int_(others[0][1].first)), here, there)
    else:
        here()


def _partition(
    ctx: Lowering, number: int, part: Partition, warp: ir.Value, captures: Sequence[Lowered]
) -> list[ir.Value]:
    with ctx.as_partition(WarpPartition(part.warps, part.first, number + 2), warp):
        ctx.lower_block(part.block, captures)
    _leave(ctx)
    return []


def _leave(ctx: Lowering) -> None:
    """No CTA of a cluster leaves while others may arrive at its barriers: all warps synchronise, those that have left excepted."""
    if ctx.hw.num_ctas > 1:
        ctx.hw.cluster_barrier(ctx.b)
