"""The rules of barriers in memory, by ``mbarrier``."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_nvidia.machine import (
    BarrierArriveOp,
    BarrierExpectOp,
    BarrierInitOp,
    BarrierInvalOp,
    BarrierWaitOp,
    FenceOp,
    MapaOp,
    OrderedBarrierOp,
    PeerArriveOp,
    WarpBarrierOp,
)
from tri_backend_nvidia.options import nvidia_options
from tri_core.errors import Unsupported
from tri_core.ir.views import cast
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import ArriveBarrierOp, InitBarrierOp, InvalBarrierOp
from tri_gpu_dialect.dialect.markers import CLUSTER
from tri_gpu_dialect.lowering import Lowered, Lowering
from tri_gpu_dialect.lowering.table import Rule

__all__ = ["RULES", "fence", "first_elected"]

#: the first named barrier of ping-pong scheduling: 0 is the CTA's, then come those of the region of consumers and of partitions
_ORDERED_BARRIERS = 8


def _number(ctx: Lowering, op: ir.Operation, name: str) -> ir.Attribute:
    return ir.IntegerAttr.get(ctx.b.i32, ir.IntegerAttr(op.attributes[name]).value)


def _address(ctx: Lowering, value: ir.Value) -> ir.Value:
    return ctx.shared_tensor(value).base


def elected(ctx: Lowering) -> ir.Value:
    """Predicate (i1) of the elected lane of this warp."""
    return ctx.hw.elect(ctx.b)


def first_elected(ctx: Lowering) -> ir.Value:
    """Predicate (i1) of one elected thread among those that run the code being lowered."""
    chosen = elected(ctx)
    if ctx.num_warps == 1:
        return chosen
    return ctx.b.and_(chosen, ctx.b.cmp("eq", ctx.warp, ctx.b.int_(0)))


def fence(kind: str) -> None:
    """``fence.KIND``."""
    FenceOp.build([], (), {"kind": ir.StringAttr.get(kind)})


def init(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.init_barrier``: by thread 0; a fence lets copies know."""
    b = ctx.b
    first = b.cmp("eq", ctx.thread, b.int_(0))
    BarrierInitOp.build(
        [_address(ctx, cast(op, InitBarrierOp).alloc), first], (), {"count": _number(ctx, op, "count")}
    )
    fence("mbarrier_init.release.cluster")
    return []


def inval(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.inval_barrier``: by thread 0."""
    first = ctx.b.cmp("eq", ctx.thread, ctx.b.int_(0))
    BarrierInvalOp.build([_address(ctx, cast(op, InvalBarrierOp).alloc), first])
    return []


def expect(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.barrier_expect``: by one thread."""
    barrier, predicate = op.operands
    chosen = ctx.b.and_(first_elected(ctx), ctx.scalar(predicate))
    BarrierExpectOp.build([_address(ctx, barrier), chosen], (), {"size": _number(ctx, op, "size")})
    return []


def arrive(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.arrive_barrier``: the lanes of a warp synchronise, and one of them arrives for all.

    For all CTAs of a cluster there is a lane for each, which arrives there.
    """
    if "count" in op.attributes:
        return _arrive_for_all(ctx, op)
    WarpBarrierOp.build([])
    if CLUSTER in op.attributes:
        b = ctx.b
        there = MapaOp.build(
            [_address(ctx, cast(op, ArriveBarrierOp).alloc), ctx.lane],
            [b.ptr(ctx.hw.address_space("cluster"))],
        )[0]
        first = b.cmp("ult", ctx.lane, b.int_(ctx.hw.num_ctas))
        PeerArriveOp.build([there, first], (), {"scope": ir.StringAttr.get("cta")})
        return []
    BarrierArriveOp.build([_address(ctx, cast(op, ArriveBarrierOp).alloc), elected(ctx)])
    return []


def _arrive_for_all(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """The threads that run ``op`` synchronise, then the first ``count`` of them arrive."""
    count, threads = ir.IntegerAttr(op.attributes["count"]).value, ctx.num_warps * ctx.threads_per_warp
    if count > threads:
        raise Unsupported(
            f"{count} arrivals by {threads} threads", remedy=f"arrive with a count of at most {threads}"
        )
    ctx.barrier()
    first = ctx.b.cmp("ult", ctx.thread, ctx.b.int_(count))
    BarrierArriveOp.build([_address(ctx, cast(op, ArriveBarrierOp).alloc), first])
    return []


def wait(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.wait_barrier``: every thread polls, so each knows what was released."""
    barrier, phase, *_ = op.operands
    polls = nvidia_options(ctx.options).barrier_polls
    attributes = {"polls": ir.IntegerAttr.get(ctx.b.i32, polls)}
    BarrierWaitOp.build([_address(ctx, barrier), ctx.scalar(phase)], (), attributes)
    return []


def fence_async(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.fence_async_shared``."""
    fence("proxy.async.global" if "global" in op.attributes else "proxy.async.shared::cta")
    return []


def ordered_barrier(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.ordered_barrier``, by named barriers behind those of partitions."""
    warps = ir.IntegerAttr(op.attributes["group_warps"]).value
    group = ctx.b.lshr(ctx.warp, (warps - 1).bit_length())
    numbers = {
        "first": _ORDERED_BARRIERS,
        "groups": ctx.num_warps // warps,
        "threads": warps * ctx.threads_per_warp,
    }
    attributes = {name: ir.IntegerAttr.get(ctx.b.i32, number) for name, number in numbers.items()}
    OrderedBarrierOp.build([group], (), {"step": op.attributes["step"], **attributes})
    return []


RULES: dict[str, Rule] = {
    "ttg.ordered_barrier": ordered_barrier,
    "ttg.init_barrier": init,
    "ttg.inval_barrier": inval,
    "ttg.barrier_expect": expect,
    "ttg.arrive_barrier": arrive,
    "ttg.wait_barrier": wait,
    "ttg.fence_async_shared": fence_async,
}
