"""Gives columns of tensor memory to the buffers that a kernel's author allocates.

    t = tmem_reserve   ->   slot = local_alloc; tmem_alloc slot; t = tmem_view slot {column}; ...; tmem_dealloc slot

Each buffer has its columns for the whole kernel: they are allocated once, at its start (in a kernel with specialised warps, by
those of the first function), and deallocated where it returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tri_backend_nvidia.tcgen05.encoding import TensorMemory
from tri_backend_nvidia.tcgen05.ops import TensorMemoryReserveOp
from tri_backend_nvidia.tcgen05.scales import TensorMemoryScales
from tri_backend_nvidia.tcgen05.tmem_operands import TensorMemoryOperand
from tri_core.api import OutOfResources, Pass, StageContext, Unsupported
from tri_core.dialects.tt import FuncOp, ReturnOp
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import WarpSpecializeOp
from tri_gpu_dialect.dialect.markers import TENSOR_MEMORY
from tri_gpu_dialect.dialect.partitions import default_block
from tri_gpu_dialect.edit import all_ops, block_ops, functions
from tri_gpu_dialect.encodings import SwizzledShared, decode

__all__ = ["PlaceTensorMemory", "columns_of"]

#: the fewest columns that can be allocated, and what the first column of a buffer is a multiple of
_LEAST, _ALIGNED = 32, 4
_SLOT = SwizzledShared(1, 1, 1, (0,))


def columns_of(type_: ir.Type) -> int:
    """Number of columns of a buffer of ``type_``, all that it counts together."""
    shape, encoding = tuple(type_.shape), decode(type_.encoding)
    assert isinstance(encoding, TensorMemory | TensorMemoryOperand | TensorMemoryScales)
    count = 1
    for size in shape[:-2]:
        count *= size
    return count * encoding.columns(shape[-2:])


def _i32(value: int) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)


@dataclass(frozen=True)
class PlaceTensorMemory(Pass):
    """See the module; runs before shared memory is allocated."""

    name: ClassVar[str] = "place-tensor-memory"
    required: ClassVar[bool] = True

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the kernel of ``module``; OutOfResources at the buffer that the columns do not suffice for."""
        limit = context.target.spec.limits.get("tensor_memory") if context is not None else None
        for function in functions(module):
            found = [op for op in all_ops(function) if isa(op, TensorMemoryReserveOp)]
            if not found:
                continue
            _check_kernel(function, found[0])
            columns = _columns(found, limit)
            last = columns[-1] + columns_of(found[-1].results[0].type)
            size = max(1 << (last - 1).bit_length(), _LEAST)
            _place(function, _root(function, found), found, columns, size)
            module.operation.attributes[TENSOR_MEMORY] = _i32(size)


def _check_kernel(function: ir.Operation, first: ir.Operation) -> None:
    given = function.attributes
    if "sym_visibility" in given and ir.StringAttr(given["sym_visibility"]).value != "public":
        raise Unsupported(
            "tensor memory allocated in a function that is called",
            remedy="let the function be inlined (no noinline=True), or pass the buffer to it",
            location=source_location(first.location),
        )


def _root(function: ir.Operation, found: Sequence[ir.Operation]) -> ir.Block:
    """The block whose start allocates: the kernel's, or that of the first function of specialised warps."""
    entry = function.regions[0].blocks[0]
    special = [op for op in block_ops(entry) if isa(op, WarpSpecializeOp)]
    if not special:
        return entry
    root = default_block(special[0])
    for op in found:
        if not _is_inside(op, root):
            raise Unsupported(
                "tensor memory allocated outside of the first function of warp_specialize",
                remedy="allocate it, start its dots and load it in the first function; let other partitions copy",
                location=source_location(op.location),
            )
    return root


def _is_inside(op: ir.Operation, root: ir.Block) -> bool:
    block = op.block
    while block != root:
        owner = block.owner.operation
        if isa(owner, FuncOp):
            return False
        block = owner.block
    return True


def _columns(found: Sequence[ir.Operation], limit: int | None) -> list[int]:
    """The first column of each buffer."""
    firsts, end = [], 0
    for op in found:
        first = -(-end // _ALIGNED) * _ALIGNED
        end = first + columns_of(op.results[0].type)
        firsts.append(first)
        if limit is not None and end > limit:
            raise OutOfResources(
                f"the buffers up to this one need {end} columns of tensor memory; the target has {limit}",
                remedy="allocate smaller blocks or fewer of them, or use a buffer's columns again by reinterpret",
                location=source_location(op.location),
                resource="tensor_memory",
                need=end,
                have=limit,
            )
    return firsts


def _place(
    function: ir.Operation,
    root: ir.Block,
    found: Sequence[ir.Operation],
    columns: Sequence[int],
    size: int,
) -> None:
    """Allocate ``size`` columns at the start of ``root``, with a view for each buffer, and deallocate them where the kernel ends."""
    entry, attributes = function.regions[0].blocks[0], {"columns": _i32(size)}
    i32 = ir.IntegerType.get_signless(32)
    with ir.InsertionPoint.at_block_begin(entry), function.location:
        type_ = MemDescType.of((1,), i32, _SLOT.to_attr(), mutable=True)
        made = ir.Operation.create("ttg.local_alloc", results=[type_])
    slot = made.results[0]
    at = ir.InsertionPoint.after(made) if root == entry else ir.InsertionPoint.at_block_begin(root)
    with at, function.location:
        ir.Operation.create("ttng.tmem_alloc", operands=[slot], attributes=attributes)
        for op, column in zip(found, columns, strict=True):
            view = ir.Operation.create(
                "ttng.tmem_view",
                results=[op.results[0].type],
                operands=[slot],
                attributes={"column": _i32(column)},
                loc=op.location,
            )
            op.results[0].replace_all_uses_with(view.results[0])
            op.erase()
    for op in all_ops(function):
        if isa(op, ReturnOp):
            with ir.InsertionPoint(op), function.location:
                ir.Operation.create("ttng.tmem_dealloc", operands=[slot], attributes=attributes)
