"""The ops of asynchronous units: dots, copies and barriers in memory that run beside the threads, and who runs which tile.

They belong to the dialect ``ttg``; most are Triton's, whose texts call them ``ttng.``.  Results come first because optional operands must
come last.  What an op may carry without declaring it is in :data:`OPTIONAL_ATTRIBUTES`.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any, TypeAlias

from tri_core.ir.access import MemoryAccess
from tri_core.ir.dots import DotLike
from tri_core.ir.effects import (
    ASYNC,
    READ_DESCRIBED,
    READ_GLOBAL,
    READ_SHARED,
    SYNCHRONIZE_CTA,
    SYNCHRONIZE_GRID,
    WRITE_DESCRIBED,
    WRITE_GLOBAL,
    WRITE_SHARED,
    Effects,
)
from tri_core.ir.traits import DerivesPointer
from tri_core.mlir import ext, ir
from tri_gpu_dialect.base import TTG
from tri_gpu_dialect.dialect import verify

__all__ = [
    "ArriveBarrierOp",
    "AsyncCopyDescriptorToLocalOp",
    "AsyncCopyLocalToDescriptorOp",
    "AsyncStoreWaitOp",
    "BarrierExpectOp",
    "BroadcastTileOp",
    "FenceAsyncSharedOp",
    "FetchTileOp",
    "InitBarrierOp",
    "InvalBarrierOp",
    "OrderedBarrierOp",
    "ReadTileOp",
    "TensormapCreateOp",
    "WaitBarrierOp",
    "WarpGroupDotOp",
    "WarpGroupDotWaitOp",
]

_In: TypeAlias = ext.Operand[Any]
_Out: TypeAlias = ext.Result[Any]
_Ins: TypeAlias = Sequence[ext.Operand[Any]]
_Outs: TypeAlias = Sequence[ext.Result[Any]]

#: attributes an op may carry without declaring them: IRDL knows no optional ones
OPTIONAL_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "ttg.arrive_barrier": ("count",),
    "ttg.async_copy_local_to_descriptor": ("kind",),
    "ttg.async_store_wait": ("complete",),
    "ttg.fence_async_shared": ("global",),
    "ttg.tensormap_create": ("padding", "allocation.offset"),
    "ttg.warp_group_dot": ("maxNumImpreciseAcc", "a_elem_type", "b_elem_type", "scale_columns"),
}


# --- dots that run on their own -------------------------------------------------------------------------


class WarpGroupDotOp(
    TTG.Operation, name="warp_group_dot", traits=[Effects(READ_SHARED.on("a", "b", "more"), ASYNC), DotLike]
):
    """Starts ``a @ b + c`` (without ``+ c`` where ``use_c``, an i1, is false) and goes on.

    ``a`` and ``b`` are buffers, or one of them is a tensor.  The result is undefined, and what is read must stay, until a
    ``ttg.warp_group_dot_wait`` gives it as its own result.  Dots of a warp group end in the order of their starts.
    ``a`` and ``c`` may be buffers in a memory of a vendor's: ``c`` is added to in place, and the result stands for it.
    ``more``: ``use_c``; behind it, of operands with block scales, the buffers of these and whatever a vendor needs for
    them.  ``a_elem_type``, ``b_elem_type`` are then as of ``tt.dot_scaled``: e2m1 is two numbers in a byte, along k.
    """

    a: _In
    b: _In
    c: _In
    inputPrecision: ir.IntegerAttr
    more: _Ins
    result: _Out
    verify_invariants = verify.rule(verify.multiplies_async)


class WarpGroupDotWaitOp(TTG.Operation, name="warp_group_dot_wait", traits=[Effects(ASYNC)]):
    """Waits until at most ``pendings`` dots of this warp group are under way; gives ``inputs``, all of one type."""

    results_: _Outs
    inputs: _Ins
    pendings: ir.IntegerAttr
    verify_invariants = verify.rule(verify.forwards)


# --- barriers in memory, and copies that they count -----------------------------------------------------


class InitBarrierOp(TTG.Operation, name="init_barrier", traits=[Effects(WRITE_SHARED.on("alloc"))]):
    """A barrier at ``alloc``: a phase is complete after ``count`` arrivals, when all expected bytes have come.

    One thread does it; all threads synchronise before another op uses the barrier.
    """

    alloc: _In
    count: ir.IntegerAttr
    verify_invariants = verify.rule(verify.uses_barrier(0), verify.positive("count"))


class InvalBarrierOp(TTG.Operation, name="inval_barrier", traits=[Effects(WRITE_SHARED.on("alloc"))]):
    """Ends the life of a barrier, so that its memory may hold something else; all threads synchronised before."""

    alloc: _In
    verify_invariants = verify.rule(verify.uses_barrier(0))


class BarrierExpectOp(TTG.Operation, name="barrier_expect", traits=[Effects(SYNCHRONIZE_CTA.on("alloc"))]):
    """One arrival, by one thread, where ``pred`` (i1); ``size`` more bytes are to come in this phase."""

    alloc: _In
    pred: _In
    size: ir.IntegerAttr
    verify_invariants = verify.rule(verify.uses_barrier(0), verify.positive("size"))


class ArriveBarrierOp(TTG.Operation, name="arrive_barrier", traits=[Effects(SYNCHRONIZE_CTA.on("alloc"))]):
    """One arrival by each warp that executes it; what the warp accessed before is released.

    With ``count`` (i32), so many arrivals in all, once the threads that execute it have synchronised.
    ``deps``: all the buffers whose accesses it must stay behind, for passes that move it; none: any may be.
    """

    alloc: _In
    deps: _Ins
    verify_invariants = verify.rule(verify.uses_barrier(0), verify.names_buffers(1))


class WaitBarrierOp(TTG.Operation, name="wait_barrier", traits=[Effects(SYNCHRONIZE_CTA.on("alloc"))]):
    """Waits until the phase of parity ``phase`` (i32: 0 or 1) is complete; what was released into it is seen.

    ``deps``: all the buffers whose accesses it must stay ahead of, for passes that move it; none: any may be.
    """

    alloc: _In
    phase: _In
    deps: _Ins
    verify_invariants = verify.rule(verify.uses_barrier(0), verify.names_buffers(2))


class AsyncCopyDescriptorToLocalOp(
    TTG.Operation,
    name="async_copy_descriptor_to_local",
    traits=[
        Effects(READ_DESCRIBED, WRITE_SHARED.on("result"), ASYNC.on("barrier")),
        MemoryAccess("desc", offsets=("coord",), into="result"),
    ],
):
    """Starts a copy, where ``pred``, of the block at ``coord`` (i32) to ``result``; its bytes count at ``barrier``.

    What is outside of the tensor is filled in as the descriptor says.  One thread starts it.
    """

    desc: _In
    coord: _Ins
    barrier: _In
    result: _In
    pred: _In
    verify_invariants = verify.rule(verify.copies_from_descriptor)


class AsyncCopyLocalToDescriptorOp(
    TTG.Operation,
    name="async_copy_local_to_descriptor",
    traits=[
        Effects(READ_SHARED.on("src"), WRITE_DESCRIBED, ASYNC),
        MemoryAccess("desc", offsets=("coord",), stored="src"),
    ],
):
    """Starts a copy of ``src`` to the block at ``coord`` (i32), cut off at the tensor's bounds.

    With ``kind`` (as ``tt.descriptor_reduce`` has it) it is combined with what is there.  One thread starts it.
    """

    desc: _In
    coord: _Ins
    src: _In
    verify_invariants = verify.rule(verify.copies_to_descriptor)


class AsyncStoreWaitOp(TTG.Operation, name="async_store_wait", traits=[Effects(ASYNC)]):
    """Waits until at most ``pendings`` copies to descriptors, of the thread that starts them, read their buffers.

    With ``complete``, until they are done: what they wrote is seen by this thread.
    """

    pendings: ir.IntegerAttr


class FenceAsyncSharedOp(TTG.Operation, name="fence_async_shared", traits=[Effects(ASYNC)]):
    """Make this thread's ordinary writes to shared memory visible to copies and dots after the next barrier.

    With ``global``, what it wrote to global memory (or has seen of others' writes).
    """


class TensormapCreateOp(
    TTG.Operation,
    name="tensormap_create",
    traits=[Effects(WRITE_GLOBAL, SYNCHRONIZE_GRID), DerivesPointer],
):
    """The descriptor of the tensor at ``base``, made in the kernel: its encoded form is written to ``desc_ptr``, global memory.

    Copies through one that was there must be over.  One warp makes it, with shared memory of the op's own.
    """

    desc_ptr: _In
    base: _In
    shape: _Ins
    strides: _Ins
    result: _Out
    verify_invariants = verify.rule(verify.creates_tensormap)


# --- threads, and who runs which tile ------------------------------------------------------------------


class OrderedBarrierOp(TTG.Operation, name="ordered_barrier", traits=[Effects(SYNCHRONIZE_CTA)]):
    """Warp groups of ``group_warps`` warps alternate, in order and round; nothing else is ordered by it.

    ``step``: ``open`` lets the first group go on, ``wait`` waits for this group's, ``pass`` gives the next group its, without waiting,
    and ``close`` takes that back from the last.  All groups run the same steps: open (wait pass)* close.
    """

    step: ir.StringAttr
    group_warps: ir.IntegerAttr
    verify_invariants = verify.rule(verify.is_ordered)


class FetchTileOp(
    TTG.Operation, name="fetch_tile", traits=[Effects(READ_GLOBAL, WRITE_GLOBAL, SYNCHRONIZE_GRID)]
):
    """Takes a ticket from the launch's counter, which goes from 0 up to ``total``, exclusive, and is 0 again then.

    One thread of those that run the op gets one; the result is for ``ttg.broadcast_tile`` alone, and means nothing in others.
    The launch passes the counter as a hidden parameter.
    """

    total: _In
    result: _Out


class BroadcastTileOp(
    TTG.Operation, name="broadcast_tile", traits=[Effects(WRITE_SHARED.on("dst", ordered=True))]
):
    """The thread that drew ``number`` writes it to ``dst``, a buffer of one i32, for whom a barrier lets read it."""

    number: _In
    dst: _In
    verify_invariants = verify.rule(verify.holds_number(1))


class ReadTileOp(TTG.Operation, name="read_tile", traits=[Effects(READ_SHARED.on("src"))]):
    """The number in ``src``, a buffer of one i32; uniform over a warp."""

    src: _In
    result: _Out
    verify_invariants = verify.rule(verify.holds_number(0))
