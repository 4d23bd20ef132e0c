"""Capabilities of the tensor memory accelerator for a descriptor: decided from types, before any code is
made.
"""

from __future__ import annotations

from functools import cache

from tri_backend_nvidia.mma import NvmmaShared
from tri_backend_nvidia.tma.boxes import Boxes, boxes
from tri_backend_nvidia.tma.descriptors import element_name, pads_with_nan
from tri_backend_nvidia.tma.guards import ends_inside_pieces, function_of, starts_at_pieces
from tri_core.dialects.tt import (
    DescriptorGatherOp,
    DescriptorLoadOp,
    DescriptorReduceOp,
    DescriptorScatterOp,
    DescriptorStoreOp,
    DotOp,
    DotScaledOp,
    FuncOp,
    TensorDescType,
)
from tri_core.dialects.tt.enums import DescriptorReduceKind
from tri_core.ir.regions import is_loop
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.axis_info import axis_info
from tri_gpu_dialect.dialect.launch_invariants import known_at_launch, launch_number
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.encodings import SharedEncoding, SwizzledShared
from tri_gpu_dialect.policies.async_units import AsyncPolicy, Specialization

__all__ = ["TensorMemoryAccelerator"]

_MOST_DIMENSIONS = 5
#: reduction -> element types that it combines (PTX ISA 9.7.9.25.5; of s64 an H200 has minima and maxima alone)
_COMBINES = {
    DescriptorReduceKind.ADD: ("u32", "s32", "u64", "f16", "bf16", "f32"),
    DescriptorReduceKind.MIN: ("u32", "s32", "u64", "s64", "f16", "bf16"),
    DescriptorReduceKind.MAX: ("u32", "s32", "u64", "s64", "f16", "bf16"),
    DescriptorReduceKind.AND: ("u32", "s32", "u64"),
    DescriptorReduceKind.OR: ("u32", "s32", "u64"),
    DescriptorReduceKind.XOR: ("u32", "s32", "u64"),
}


@dataclass(frozen=True)
class TensorMemoryAccelerator:
    """Block copies; see :class:`tri_gpu_dialect.policies.async_units.BlockCopies`.

    ``in_dot_loops``: also in loops that hold dots, where something has to start them ahead of their use; what the
    kernel's loops say about warps for that wins, and decides alone where this is None.  ``in_clusters``: there alone, for
    the CTAs of a cluster that copy for each other.
    """

    in_dot_loops: bool | None = False
    in_clusters: bool = False

    def refuses(self, maker: ir.Operation) -> str | None:
        """Reason that a descriptor's accesses are left to pointers; None if they are not."""
        type_ = maker.results[0].type
        outside = _outside_of_dot_loops(maker) if self.in_clusters else None
        return outside or _block(type_) or _numbers(maker) or _padding(maker) or self._accesses(maker)

    def _accesses(self, maker: ir.Operation) -> str | None:
        infos = cache(lambda: axis_info(function_of(maker)))
        for use in maker.results[0].uses:
            op = use.owner.operation
            if isa(op, DescriptorLoadOp) and not self._runs_ahead(op) and _in_dot_loop(op):
                return "it feeds a loop of dots, whose copies are pipelined by pointers"
            if isa(op, DescriptorLoadOp) and _in_dot_loop(op) and not starts_at_pieces(op, infos()):
                return "it feeds a loop of dots without a guard that rows start at multiples of 16 bytes"
            if isa(op, DescriptorGatherOp, DescriptorScatterOp):
                return "rows are gathered"
            if isa(op, DescriptorStoreOp, DescriptorReduceOp) and ends_inside_pieces(op):
                return "rows of the tensor end inside of 16 bytes, which stores write whole"
            if isa(op, DescriptorReduceOp) and not _combines(op):
                return "the copies do not combine in this way"
        return None

    def _runs_ahead(self, load: ir.Operation) -> bool:
        """True if a producer partition starts the load, as the policy decides for the kernel around it."""
        policy = AsyncPolicy(producer=Specialization(), specialize=self.in_dot_loops)
        return policy.specialization(function_of(load)) is not None

    def encoding(self, descriptor: TensorDescType) -> SharedEncoding:
        """Rows as wide as a swizzle where the block has them, else row after row."""
        block = descriptor.block_type
        shape, bits = tuple(block.shape), block.element_type.width
        if len(shape) > 1 and shape[-2] >= 8:
            wide = NvmmaShared.widest(shape, bits, transposed=False)
            if wide.swizzling_byte_width and self.suits(descriptor, wide):
                return wide
        return SwizzledShared(1, 1, 1, tuple(reversed(range(len(shape)))))

    def suits(self, descriptor: TensorDescType, encoding: SharedEncoding) -> bool:
        """True if boxes make up a buffer of ``encoding``."""
        return not encoding.padding and _boxes(descriptor, encoding) is not None

    def alignment(self, descriptor: TensorDescType, encoding: SharedEncoding) -> int:
        """Alignment in bytes that the swizzle, which is one of addresses, needs."""
        found = _boxes(descriptor, encoding)
        return encoding.alignment if found is None else max(found.alignment, encoding.alignment)


def _outside_of_dot_loops(maker: ir.Operation) -> str | None:
    """Reason that a descriptor is left to pointers in a kernel of clusters; None if it is not."""
    if not known_at_launch(maker):
        return "CTAs of a cluster would make one descriptor together"
    for use in maker.results[0].uses:
        op = use.owner.operation
        if not isa(op, DescriptorLoadOp) or not _in_dot_loop(op):
            return "CTAs of a cluster copy by the TMA only what feeds loops of dots"
    return None


def _boxes(descriptor: TensorDescType, encoding: SharedEncoding) -> Boxes | None:
    block = descriptor.block_type
    return boxes(encoding.part(tuple(block.shape))[0], block.element_type.width // 8)


def _block(type_: TensorDescType) -> str | None:
    block = type_.block_type
    if len(block.shape) > _MOST_DIMENSIONS:
        return f"a block of {len(block.shape)} dimensions"
    if element_name(block.element_type) is None:
        return f"elements of {block.element_type}"
    if min(block.shape[-1], 256) * block.element_type.width < 128:
        return "rows of less than 16 bytes"
    return None


def _numbers(maker: ir.Operation) -> str | None:
    _, *numbers = maker.operands
    last = launch_number(numbers[-1])
    if last is None or last.parameter is not None or last.value != 1:
        return "the last stride is not 1"
    if not known_at_launch(maker) and (reason := _made_here(maker)) is not None:
        return reason
    size = maker.results[0].type.block_type.element_type.width // 8
    known = (launch_number(n) for n in numbers[len(numbers) // 2 : -1])
    if any(n is not None and n.parameter is None and n.value * size % 16 for n in known):
        return "a stride is not a multiple of 16 bytes"
    return None


def _made_here(maker: ir.Operation) -> str | None:
    """Reason that the kernel does not make a descriptor of a tensor known only in it, which takes as long as
    a copy or two.
    """
    around = _loops_around(maker)
    accesses = [use.owner.operation for use in maker.results[0].uses]
    if any(_loops_around(op) == around for op in accesses):
        return "only the kernel knows the tensor, and would make the descriptor for each access anew"
    if len({isa(op, DescriptorLoadOp) for op in accesses}) > 1:
        return "only the kernel knows the tensor, which may be empty, and it is both read and written"
    return None


def _loops_around(op: ir.Operation) -> int:
    """Number of loops around ``op``."""
    outer, count = op.parent.operation, 0
    while not isa(outer, FuncOp):
        count += is_loop(outer)
        outer = outer.parent.operation
    return count


def _padding(maker: ir.Operation) -> str | None:
    name = element_name(maker.results[0].type.block_type.element_type) or ""
    return "NaN in elements of 8 bits" if pads_with_nan(maker) and "f" not in name else None


def _combines(op: ir.Operation) -> bool:
    kind = DescriptorReduceKind(ir.IntegerAttr(op.attributes["kind"]).value)
    return element_name(cast(op, DescriptorReduceOp).desc.type.block_type.element_type) in _COMBINES.get(
        kind, ()
    )


def _in_dot_loop(op: ir.Operation) -> bool:
    """True if a loop around ``op`` holds a dot next to it."""
    outer = op.parent
    while outer is not None and not isa(outer.operation, FuncOp):
        if is_loop(outer.operation):
            return any(isa(each, DotOp, DotScaledOp) for each in all_ops(outer.operation))
        outer = outer.operation.parent
    return False
