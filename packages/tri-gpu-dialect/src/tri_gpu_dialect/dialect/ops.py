"""The ops of the ``ttg`` dialect, as a table; names, operands and attributes are Triton's.

Results come first because optional operands must come last.  Attributes that an op may carry without
declaring them are in :data:`OPTIONAL_ATTRIBUTES`.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any, TypeAlias

from tri_core.ir.access import MemoryAccess
from tri_core.ir.dots import DotLike
from tri_core.ir.effects import (
    ALLOCATE_GLOBAL,
    ALLOCATE_SHARED,
    ASYNC,
    FREE_SHARED,
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
from tri_core.ir.regions import ConcurrentRegions, Edge, RegionBranch, RegionBranchTerminator, RegionHolder
from tri_core.ir.rewriting import terminator
from tri_core.ir.traits import DataMovement, Pure, Rematerializable, ViewLike
from tri_core.mlir import ext, ir
from tri_gpu_dialect.base import TTG
from tri_gpu_dialect.dialect import verify
from tri_gpu_dialect.dialect.partitions import default_block, partition_blocks

__all__ = [
    "OPTIONAL_ATTRIBUTES",
    "ArriveBarrierOp",
    "AsyncCommitGroupOp",
    "AsyncCopyDescriptorToLocalOp",
    "AsyncCopyGlobalToLocalOp",
    "AsyncCopyLocalToDescriptorOp",
    "AsyncStoreWaitOp",
    "AsyncWaitOp",
    "BarrierExpectOp",
    "BarrierOp",
    "BroadcastTileOp",
    "ConvertLayoutOp",
    "FenceAsyncSharedOp",
    "FetchTileOp",
    "Fp4ToFpOp",
    "GetGridSizeOp",
    "GlobalScratchAllocOp",
    "InitBarrierOp",
    "InvalBarrierOp",
    "LocalAllocOp",
    "LocalDeallocOp",
    "LocalDotOp",
    "LocalGatherOp",
    "LocalLoadOp",
    "LocalScatterOp",
    "LocalStoreOp",
    "MaskOp",
    "MaskReturnOp",
    "MemDescIndexOp",
    "MemDescReinterpretOp",
    "MemDescReshapeOp",
    "MemDescSubsliceOp",
    "MemDescTransOp",
    "NextTileOp",
    "OrderedBarrierOp",
    "PredicateStageOp",
    "ReadTileOp",
    "TensormapCreateOp",
    "WaitBarrierOp",
    "WarpGroupDotOp",
    "WarpGroupDotWaitOp",
    "WarpIdOp",
    "WarpReturnOp",
    "WarpSpecializeOp",
    "WarpSpecializePartitionsOp",
    "WarpYieldOp",
]

_In: TypeAlias = ext.Operand[Any]
_Out: TypeAlias = ext.Result[Any]
_Opt: TypeAlias = ext.Operand[Any] | None
_Ins: TypeAlias = Sequence[ext.Operand[Any]]
_Outs: TypeAlias = Sequence[ext.Result[Any]]

#: attributes an op may carry without declaring them: IRDL knows no optional ones
OPTIONAL_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "ttg.local_alloc": ("alignment", "allocation.offset"),
    "ttg.convert_layout": ("allocation.offset",),
    "ttg.async_copy_global_to_local": ("isVolatile", "cache", "evict", "contiguity"),
    "ttg.async_copy_local_to_descriptor": ("kind",),
    "ttg.async_store_wait": ("complete",),
    "ttg.fence_async_shared": ("global",),
    "ttg.tensormap_create": ("padding", "allocation.offset"),
    "ttg.warp_group_dot": ("maxNumImpreciseAcc", "a_elem_type", "b_elem_type", "scale_columns"),
    "ttg.warp_specialize": ("warpGroupStartIds", "requestedRegisters", "actualRegisters"),
    "ttg.global_scratch_alloc": ("ttg.global_scratch_memory_offset",),
}


class ConvertLayoutOp(TTG.Operation, name="convert_layout", traits=[Pure, Rematerializable, DataMovement]):
    """The same tensor in another layout."""

    src: _In
    result: _Out
    verify_invariants = verify.rule(verify.changes_layout)


# --- shared memory --------------------------------------------------------------------------------------


class LocalAllocOp(
    TTG.Operation, name="local_alloc", traits=[Effects(ALLOCATE_SHARED.on("result", filled_by="src"))]
):
    """A buffer in shared memory, holding ``src`` if there is one (and then it may be immutable)."""

    result: _Out
    src: _Opt = None
    verify_invariants = verify.rule(verify.allocates)


class LocalDeallocOp(TTG.Operation, name="local_dealloc", traits=[Effects(FREE_SHARED)]):
    """Ends the life of a buffer; without it, the last use does."""

    src: _In


class LocalLoadOp(TTG.Operation, name="local_load", traits=[Effects(READ_SHARED.on("src"))]):
    """A tensor read from shared memory; ``token`` orders it after an asynchronous wait."""

    result: _Out
    src: _In
    token: _Opt = None
    verify_invariants = verify.rule(verify.loads)


class LocalStoreOp(TTG.Operation, name="local_store", traits=[Effects(WRITE_SHARED.on("dst"))]):
    """A tensor written to shared memory."""

    src: _In
    dst: _In
    verify_invariants = verify.rule(verify.stores)


class LocalGatherOp(TTG.Operation, name="local_gather", traits=[Effects(READ_SHARED.on("src"))]):
    """``result[.., i, ..] = src[.., indices[.., i, ..], ..]`` along ``axis`` of a buffer."""

    src: _In
    indices: _In
    axis: ir.IntegerAttr
    result: _Out


class LocalScatterOp(TTG.Operation, name="local_scatter", traits=[Effects(WRITE_SHARED.on("dst"))]):
    """``dst[.., indices[.., i, ..], ..] = values[.., i, ..]`` along ``axis`` of a buffer."""

    dst: _In
    values: _In
    indices: _In
    axis: ir.IntegerAttr


class LocalDotOp(TTG.Operation, name="local_dot", traits=[Effects(READ_SHARED.on("a", "b")), DotLike]):
    """``a @ b + c`` by multiply-add, ``a`` and ``b`` being row-major buffers; dots are added in order of k."""

    a: _In
    b: _In
    c: _In
    inputPrecision: ir.IntegerAttr
    result: _Out
    verify_invariants = verify.rule(verify.multiplies)


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


# --- views of shared memory -----------------------------------------------------------------------------


class MemDescIndexOp(TTG.Operation, name="memdesc_index", traits=[Pure, ViewLike]):
    """Part ``index`` (i32) of a buffer along its leading dimension."""

    src: _In
    index: _In
    result: _Out
    verify_invariants = verify.rule(verify.indexes)


class MemDescSubsliceOp(TTG.Operation, name="memdesc_subslice", traits=[Pure, ViewLike]):
    """A box of a buffer at constant ``offsets``."""

    src: _In
    offsets: Any
    result: _Out
    verify_invariants = verify.rule(verify.subslices)


class MemDescTransOp(TTG.Operation, name="memdesc_trans", traits=[Pure, ViewLike]):
    """A buffer seen with its dimensions permuted: result dimension i is source dimension ``order[i]``."""

    src: _In
    order: Any
    result: _Out
    verify_invariants = verify.rule(verify.permutes)


class MemDescReshapeOp(TTG.Operation, name="memdesc_reshape", traits=[Pure, ViewLike]):
    """A buffer seen in another shape, row-major."""

    src: _In
    result: _Out
    verify_invariants = verify.rule(verify.reshapes)


class MemDescReinterpretOp(TTG.Operation, name="memdesc_reinterpret", traits=[Pure, ViewLike]):
    """A buffer's bytes seen as another tensor altogether."""

    src: _In
    result: _Out


# --- asynchronous copies --------------------------------------------------------------------------------


class AsyncCopyGlobalToLocalOp(
    TTG.Operation,
    name="async_copy_global_to_local",
    traits=[
        Effects(READ_GLOBAL, WRITE_SHARED.on("result"), ASYNC),
        MemoryAccess("src", mask="mask", other="other", into="result"),
    ],
):
    """Starts a copy from pointers ``src`` to buffer ``result`` (Triton's name of the destination)."""

    token: _Out
    src: _In
    result: _In
    mask: _Opt = None
    other: _Opt = None
    verify_invariants = verify.rule(verify.copies_async)


class AsyncCommitGroupOp(TTG.Operation, name="async_commit_group", traits=[Effects(ASYNC)]):
    """Makes one group of the copies started since the last commit."""

    token: _Out
    inputtokens: _Ins


class AsyncWaitOp(TTG.Operation, name="async_wait", traits=[Effects(ASYNC)]):
    """Waits until at most ``num`` groups of this thread's copies are under way."""

    token: _Out
    inputtokens: _Ins
    num: ir.IntegerAttr


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
    """What this thread wrote to shared memory by ordinary code is seen by copies and dots after the next barrier.

    With ``global``, what it wrote to global memory (or has seen of others' writes).
    """


class TensormapCreateOp(
    TTG.Operation, name="tensormap_create", traits=[Effects(WRITE_GLOBAL, SYNCHRONIZE_GRID)]
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


# --- threads --------------------------------------------------------------------------------------------


class BarrierOp(TTG.Operation, name="barrier", traits=[Effects(SYNCHRONIZE_CTA)]):
    """All threads of the block synchronise; memory of ``addrSpace`` (bits: 1 shared, 2 global) is then consistent."""

    addrSpace: ir.IntegerAttr


class OrderedBarrierOp(TTG.Operation, name="ordered_barrier", traits=[Effects(SYNCHRONIZE_CTA)]):
    """Warp groups of ``group_warps`` warps alternate, in order and round; nothing else is ordered by it.

    ``step``: ``open`` lets the first group go on, ``wait`` waits for this group's, ``pass`` gives the next group its, without waiting,
    and ``close`` takes that back from the last.  All groups run the same steps: open (wait pass)* close.
    """

    step: ir.StringAttr
    group_warps: ir.IntegerAttr
    verify_invariants = verify.rule(verify.is_ordered)


class WarpIdOp(TTG.Operation, name="warp_id", traits=[Pure]):
    """The index of this warp in its block, uniform over the warp."""

    result: _Out


class GetGridSizeOp(TTG.Operation, name="get_grid_size", traits=[Pure, Rematerializable]):
    """How many programs the launch asks for along ``axis``.

    Of a persistent kernel CTAs are fewer: ``tt.get_num_programs`` counts those, along axis 0, and ``tt.get_program_id`` says which
    this one is.  The launch passes the number as a hidden parameter.
    """

    result: _Out
    axis: ir.IntegerAttr


class NextTileOp(TTG.Operation, name="next_tile", traits=[Pure, Rematerializable]):
    """Where, in the order of programs, the one is that this CTA runs after this one.

    It is ``following``; any that no other CTA runs will do, where somebody hands them out.  From ``total`` on, the grid's size, there
    are none.
    """

    following: _In
    total: _In
    result: _Out


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


class WarpSpecializeOp(TTG.Operation, name="warp_specialize", traits=[Effects(), ConcurrentRegions]):
    """Runs ``default`` on the block's own warps and each partition on warps of its own, all at once.

    ``partitionholder`` holds one ``ttg.warp_specialize_partitions``; ``partitionNumWarps`` its warp counts.
    ``warpGroupStartIds`` gives the partitions' first warps, ``actualRegisters`` the registers of a thread, of the
    default region first.  A partition's block has an argument per capture and uses nothing else from outside.
    """

    results_: _Outs
    captures: _Ins
    partitionNumWarps: Any
    default: ext.Region
    partitionholder: ext.Region
    verify_invariants = verify.rule(verify.specializes)

    def region_blocks(self) -> list[ir.Block]:
        """See :class:`tri_core.ir.regions.RegionBranch`."""
        op = self.operation
        return [*partition_blocks(op), default_block(op)]

    def region_edges(self) -> list[Edge]:
        """See :class:`tri_core.ir.regions.RegionBranch`."""
        op = self.operation
        *others, default = self.region_blocks()
        return [
            *(Edge(op, op, 0, len(op.operands), block) for block in others),
            Edge(op, op, 0, 0, default),
            Edge(op, terminator(default), 0, len(op.results), None),
        ]


class WarpSpecializePartitionsOp(
    TTG.Operation, name="warp_specialize_partitions", traits=[ir.IsTerminatorTrait, Effects(), RegionHolder]
):
    """The partitions of a ``ttg.warp_specialize``: one function-like region with a block per partition."""

    partitions: ext.Region


class WarpYieldOp(TTG.Operation, name="warp_yield", traits=[ir.IsTerminatorTrait, Effects()]):
    """Ends the default region of ``ttg.warp_specialize`` with its results."""

    srcs: _Ins


class WarpReturnOp(TTG.Operation, name="warp_return", traits=[ir.IsTerminatorTrait, Effects()]):
    """Ends a partition."""


# --- what pipelining leaves -----------------------------------------------------------------------------


class MaskOp(TTG.Operation, name="mask", traits=[Effects(), RegionBranch]):
    """Its region's effects happen, and its results count, where ``pred`` is true."""

    results_: _Outs
    pred: _In
    region: ext.Region

    def region_edges(self) -> list[Edge]:
        """See :class:`tri_core.ir.regions.RegionBranch`."""
        op, block = self.operation, self.operation.regions[0].blocks[0]
        return [Edge(op, op, 1, 0, block), Edge(op, terminator(block), 0, len(op.results), None)]


class MaskReturnOp(
    TTG.Operation, name="mask_return", traits=[ir.IsTerminatorTrait, Effects(), RegionBranchTerminator]
):
    """Ends the region of ``ttg.mask`` (Triton: ``ttg.mask.return``)."""

    srcs: _Ins


class PredicateStageOp(TTG.Operation, name="predicate_stage", traits=[Pure]):
    """Whether stage ``stage`` of ``maxStage`` still has an iteration at ``iv`` of a loop to ``ub``."""

    iv: _In
    ub: _In
    step: _In
    maxStage: ir.IntegerAttr
    stage: ir.IntegerAttr
    result: _Out


# --- others ---------------------------------------------------------------------------------------------


class Fp4ToFpOp(TTG.Operation, name="fp4_to_fp", traits=[Pure]):
    """Two e2m1 values per i8, unpacked along ``axis``, as a wider float."""

    src: _In
    axis: ir.IntegerAttr
    result: _Out


class GlobalScratchAllocOp(TTG.Operation, name="global_scratch_alloc", traits=[Effects(ALLOCATE_GLOBAL)]):
    """A pointer to ``nbytes`` of global memory of this program's own, aligned to ``alignment`` bytes."""

    nbytes: ir.IntegerAttr
    alignment: ir.IntegerAttr
    result: _Out
