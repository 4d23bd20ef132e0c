"""The rules of copies between descriptors and buffers, by the tensor memory accelerator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tri_backend_nvidia.machine import TmaCommitOp, TmaLoadOp, TmaStoreOp, TmaWaitOp
from tri_backend_nvidia.tma.barriers import first_elected
from tri_backend_nvidia.tma.boxes import Boxes
from tri_backend_nvidia.tma.descriptors import MapPointer, descriptor_boxes
from tri_core.dialects.tt.enums import DescriptorReduceKind
from tri_core.errors import Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.dialect.markers import CLUSTER
from tri_gpu_dialect.layouts import BLOCK, LinearLayout, dim_names
from tri_gpu_dialect.lowering import Lowered, Lowering
from tri_gpu_dialect.lowering.indices import apply
from tri_gpu_dialect.lowering.table import Rule

__all__ = ["RULES"]


def _copies(
    ctx: Lowering, found: Boxes, buffer: ir.Value, coordinates: Sequence[ir.Value]
) -> Iterator[tuple[ir.Value, list[ir.Value]]]:
    """For each box its address in shared memory, and its coordinates from the contiguous dimension on."""
    b, view = ctx.b, ctx.shared_tensor(buffer)
    if any(view.origin):
        raise Unsupported("a TMA copy of a slice of a buffer", remedy="copy the whole buffer")
    starts = _starts(ctx, [ctx.scalar(c) for c in coordinates], view.blocks)
    for origin, offset in found.parts:
        place = [b.add(start, b.int_(o)) for start, o in zip(starts, origin, strict=True)]
        yield b.gep(view.base, b.int_(offset), b.i8), place[::-1]


def _starts(
    ctx: Lowering, coordinates: Sequence[ir.Value], blocks: Sequence[Sequence[int]]
) -> list[ir.Value]:
    """Start coordinates of this CTA's share of the block at ``coordinates``."""
    if not any(map(any, blocks)):
        return list(coordinates)
    split = LinearLayout.from_bases({BLOCK: [tuple(b) for b in blocks]}, dim_names(len(coordinates)))
    moved = apply(ctx.b, split, {BLOCK: ctx.block_id()})
    return [ctx.b.add(c, m) for c, m in zip(coordinates, moved, strict=True)]


@dataclass(frozen=True)
class _Receivers:
    """The CTAs that a copy goes to: ``mask`` (i16) of them; ``first``: whether this one starts it for all."""

    mask: ir.Value
    first: ir.Value | None

    @classmethod
    def of(cls, ctx: Lowering, op: ir.Operation, blocks: Sequence[Sequence[int]]) -> _Receivers:
        """Those that have the same share, where ``op`` is for all CTAs of a cluster; else this one alone."""
        b = ctx.b
        bits = [1 << i for i, basis in enumerate(blocks) if not any(basis)]
        if CLUSTER not in op.attributes or not bits:
            return cls(b.const(b.i16, 0), None)
        rank = ctx.block_id()
        # numbers of those that share with CTA 0; from the first of any group they are as far away
        mask = sum(1 << n for n in range(1 << len(blocks)) if n & sum(bits) == n)
        first = b.cmp("eq", b.and_(rank, b.int_(sum(bits))), b.int_(0))
        return cls(b.int_cast(b.shl(b.int_(mask), rank), b.i16), first)


def _flag(ctx: Lowering, value: bool) -> ir.Attribute:
    return ir.IntegerAttr.get(ctx.b.i32, int(value))


def load(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.async_copy_descriptor_to_local``: one thread starts a copy per box, of one CTA for all that need the same."""
    b = ctx.b
    descriptor, *coordinates, barrier, buffer, predicate = op.operands
    pointer = ctx.expect(descriptor, MapPointer).pointer
    found = descriptor_boxes(descriptor.type)
    chosen = b.and_(first_elected(ctx), ctx.scalar(predicate))
    counted = ctx.shared_tensor(barrier).base
    to = _Receivers.of(ctx, op, ctx.shared_tensor(buffer).blocks)
    if to.first is not None:
        chosen = b.and_(chosen, to.first)
    for address, place in _copies(ctx, found, buffer, coordinates):
        operands = [address, pointer, counted, chosen, to.mask, *place]
        TmaLoadOp.build(operands, (), {"multicast": _flag(ctx, to.first is not None)})
    return []


def store(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.async_copy_local_to_descriptor``: one thread starts a copy per box; all are a group."""
    descriptor, *coordinates, buffer = op.operands
    pointer = ctx.expect(descriptor, MapPointer).pointer
    found = descriptor_boxes(descriptor.type)
    chosen = first_elected(ctx)
    attributes = {"combine": ir.StringAttr.get(_combine(op))}
    for address, place in _copies(ctx, found, buffer, coordinates):
        TmaStoreOp.build([address, pointer, chosen, *place], (), attributes)
    TmaCommitOp.build([])
    return []


def _combine(op: ir.Operation) -> str:
    if "kind" not in op.attributes:
        return ""
    return DescriptorReduceKind(ir.IntegerAttr(op.attributes["kind"]).value).name.lower()


def wait(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.async_store_wait``: threads that have started nothing go on at once."""
    pendings = ir.IntegerAttr(op.attributes["pendings"]).value
    TmaWaitOp.build(
        [],
        (),
        {
            "groups": ir.IntegerAttr.get(ctx.b.i32, pendings),
            "read": _flag(ctx, "complete" not in op.attributes),
        },
    )
    return []


RULES: dict[str, Rule] = {
    "ttg.async_copy_descriptor_to_local": load,
    "ttg.async_copy_local_to_descriptor": store,
    "ttg.async_store_wait": wait,
}
