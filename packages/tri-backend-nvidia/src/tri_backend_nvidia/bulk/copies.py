"""The rules of copies between descriptors and buffers, by the tensor memory accelerator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tri_backend_nvidia.bulk.barriers import first_elected
from tri_backend_nvidia.bulk.boxes import Boxes
from tri_backend_nvidia.bulk.descriptors import MapPointer, descriptor_boxes
from tri_backend_nvidia.machine import TmaCommitOp, TmaLoadOp, TmaStoreOp, TmaWaitOp
from tri_core.dialects.tt.enums import DescriptorReduceKind
from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Lowered, Lowering
from tri_gpu_dialect.lowering.table import Rule

__all__ = ["RULES"]


def _copies(
    ctx: Lowering, found: Boxes, buffer: ir.Value, coordinates: Sequence[ir.Value]
) -> Iterator[tuple[ir.Value, list[ir.Value]]]:
    """For each box its address in shared memory, and its coordinates from the contiguous dimension on."""
    b, view = ctx.b, ctx.shared_tensor(buffer)
    if any(view.origin):
        raise Unsupported("a bulk copy of a slice of a buffer", remedy="copy the whole buffer")
    starts = [ctx.scalar(c) for c in coordinates]
    for origin, offset in found.parts:
        place = [b.add(start, b.int_(o)) for start, o in zip(starts, origin, strict=True)]
        yield b.gep(view.base, b.int_(offset), b.i8), place[::-1]


def _flag(ctx: Lowering, value: bool) -> ir.Attribute:
    return ir.IntegerAttr.get(ctx.b.i32, int(value))


def load(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.async_copy_descriptor_to_local``: one thread starts a copy per box."""
    b = ctx.b
    descriptor, *coordinates, barrier, buffer, predicate = op.operands
    pointer = ctx.expect(descriptor, MapPointer).pointer
    found = descriptor_boxes(descriptor.type)
    chosen = b.and_(first_elected(ctx), ctx.scalar(predicate))
    counted = ctx.shared_tensor(barrier).base
    nobody = b.const(b.i16, 0)
    for address, place in _copies(ctx, found, buffer, coordinates):
        operands = [address, pointer, counted, chosen, nobody, *place]
        TmaLoadOp.build(operands, (), {"multicast": _flag(ctx, False)})
    return []


def store(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.async_copy_local_to_descriptor``: one thread starts a copy per box; all are a group."""
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
    """``ttg.async_store_wait``: threads that have started nothing go on at once."""
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
