"""Ops of ``ttng`` for tensor memory.

A dot is ``ttng.warp_group_dot`` whose third operand is a buffer in tensor memory, which its result stands for.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from typing import Any, TypeAlias

from tri_backend_nvidia.mma.encoding import TTNG
from tri_core.ir.effects import ASYNC, READ_SHARED, SYNCHRONIZE_CTA, WRITE_SHARED, Effect, Effects
from tri_core.ir.traits import ViewLike
from tri_core.mlir import ext, ir

__all__ = [
    "CommitOp",
    "TensorMemoryAllocOp",
    "TensorMemoryCopyOp",
    "TensorMemoryDeallocOp",
    "TensorMemoryIndexOp",
    "TensorMemoryLoadOp",
    "TensorMemoryOrderOp",
    "TensorMemoryReserveOp",
    "TensorMemorySpaceAttr",
    "TensorMemoryStoreOp",
    "TensorMemoryViewOp",
]

_In: TypeAlias = ext.Operand[Any]
_Out: TypeAlias = ext.Result[Any]
_TENSOR_MEMORY = "tensor memory"


class TensorMemorySpaceAttr(TTNG.Attribute, name="tensor_memory"):
    """``#ttng.tensor_memory``: the memory space of accumulators."""


class TensorMemoryAllocOp(
    TTNG.Operation,
    name="tmem_alloc",
    traits=[Effects(Effect("allocate", _TENSOR_MEMORY), WRITE_SHARED.on("slot"))],
):
    """Allocates ``columns`` of tensor memory; their address goes to ``slot``, an i32 in shared memory."""

    slot: _In
    columns: ir.IntegerAttr


class TensorMemoryDeallocOp(
    TTNG.Operation,
    name="tmem_dealloc",
    traits=[Effects(Effect("free", _TENSOR_MEMORY), SYNCHRONIZE_CTA.on("slot"))],
):
    """All threads synchronise; then the ``columns`` at the address in ``slot`` are deallocated."""

    slot: _In
    columns: ir.IntegerAttr


class TensorMemoryReserveOp(
    TTNG.Operation, name="tmem_reserve", traits=[Effects(Effect("allocate", _TENSOR_MEMORY))]
):
    """A buffer that the kernel's author allocates; :mod:`place_tensor_memory` gives it columns.

    A leading dimension before rows and columns counts buffers, which lie beside each other.
    """

    result: _Out


class TensorMemoryViewOp(
    TTNG.Operation, name="tmem_view", traits=[Effects(READ_SHARED.on("slot")), ViewLike]
):
    """The buffer from column ``column`` of what was allocated on; ``slot`` has the address."""

    slot: _In
    column: ir.IntegerAttr
    result: _Out


class TensorMemoryIndexOp(TTNG.Operation, name="tmem_index", traits=[Effects(), ViewLike]):
    """The buffer ``index`` (i32) times ``columns`` columns behind ``src``."""

    src: _In
    index: _In
    columns: ir.IntegerAttr
    result: _Out


class TensorMemoryLoadOp(TTNG.Operation, name="tmem_load", traits=[Effects(Effect("read", _TENSOR_MEMORY))]):
    """An accumulator read from tensor memory, in ``#ttng.tensor_memory_rows``."""

    src: _In
    result: _Out


class TensorMemoryStoreOp(
    TTNG.Operation, name="tmem_store", traits=[Effects(Effect("write", _TENSOR_MEMORY))]
):
    """An accumulator, in ``#ttng.tensor_memory_rows``, written to tensor memory."""

    src: _In
    dst: _In


class TensorMemoryCopyOp(
    TTNG.Operation,
    name="tmem_copy",
    traits=[Effects(READ_SHARED.on("src"), Effect("write", _TENSOR_MEMORY), ASYNC)],
):
    """Starts the copy of scales from shared memory to tensor memory, in order with the dots of the thread that starts them.

    The program goes on: ``src`` must stay until a commit behind it has arrived.
    """

    src: _In
    dst: _In


class TensorMemoryOrderOp(
    TTNG.Operation, name="tmem_order", traits=[Effects(Effect("order", _TENSOR_MEMORY))]
):
    """Order of tensor memory: what follows comes behind the work of the barrier that was waited for."""


class CommitOp(TTNG.Operation, name="tc_gen5_commit", traits=[Effects(ASYNC.on("barrier"))]):
    """One arrival at ``barrier`` when all dots are done that were started so far."""

    barrier: _In
