"""The ops of the ``ttg`` dialect, as a table; names, operands and attributes are Triton's.

Those of asynchronous units are in :mod:`tri_gpu_dialect.dialect.async_ops`.

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
    READ_GLOBAL,
    READ_SHARED,
    SYNCHRONIZE_CTA,
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
    "AsyncCommitGroupOp",
    "AsyncCopyGlobalToLocalOp",
    "AsyncWaitOp",
    "BarrierOp",
    "ConvertLayoutOp",
    "Fp4ToFpOp",
    "GetGridSizeOp",
    "GlobalScratchAllocOp",
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
    "PredicateStageOp",
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


# --- threads --------------------------------------------------------------------------------------------


class BarrierOp(TTG.Operation, name="barrier", traits=[Effects(SYNCHRONIZE_CTA)]):
    """All threads of the block synchronise; memory of ``addrSpace`` (bits: 1 shared, 2 global) is then consistent."""

    addrSpace: ir.IntegerAttr


class WarpIdOp(TTG.Operation, name="warp_id", traits=[Pure]):
    """The index of this warp in its block, uniform over the warp."""

    result: _Out


class GetGridSizeOp(TTG.Operation, name="get_grid_size", traits=[Pure, Rematerializable]):
    """Number of programs in the grid along ``axis``.

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
    """True if stage ``stage`` of ``maxStage`` still has an iteration at ``iv`` of a loop to ``ub``."""

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
