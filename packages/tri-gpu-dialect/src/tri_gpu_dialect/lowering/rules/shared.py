"""Buffers in shared memory, their views, and asynchronous copies done at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tri_core.errors import InternalError, Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import SharedEncoding, decode
from tri_gpu_dialect.layouts import LinearLayout
from tri_gpu_dialect.layouts.cluster import permuted
from tri_gpu_dialect.layouts.shared import pad_offset
from tri_gpu_dialect.lowering.context import Lowered, Lowering, Registers, SharedTensor, Token
from tri_gpu_dialect.lowering.indices import tensor_coordinates
from tri_gpu_dialect.lowering.rules.memory import load_tensor
from tri_gpu_dialect.lowering.table import Rule
from tri_gpu_dialect.lowering.views import (
    element_address,
    load_vectors,
    own_part,
    store_vectors,
    written_part,
)
from tri_gpu_dialect.lowering.words import bit_width, from_memory, memory_type, to_memory
from tri_gpu_dialect.plans import views

__all__ = ["RULES", "shared_tensor"]


def shared_tensor(ctx: Lowering, base: ir.Value, type_: ir.Type) -> SharedTensor:
    """The buffer of memory descriptor type ``type_`` at ``base``."""
    encoding = decode(type_.encoding)
    if not isinstance(encoding, SharedEncoding):
        raise InternalError(f"{type_} is not in shared memory")
    held = ctx.storage(type_.element_type)
    # rings of buffers may have any length: the leading dimension is the slowest, so more of it changes nothing
    layout, blocks = encoding.part(tuple(1 << (size - 1).bit_length() for size in type_.alloc_shape))
    zeros = (0,) * len(type_.shape)
    return SharedTensor(base, layout, zeros, memory_type(ctx.b, held), held, encoding.padding, blocks)


def local_alloc(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.local_alloc``: allocation has given the offset."""
    view = shared_tensor(ctx, ctx.scratch(op), op.results[0].type)
    if len(op.operands):
        source = op.operands[0]
        store_vectors(ctx, ctx.registers(source), written_part(ctx, source.type, view), view)
    return [view]


def local_dealloc(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.local_dealloc``: allocation has seen it."""
    return []


def local_load(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.local_load``."""
    view = ctx.shared_tensor(op.operands[0])
    return [load_vectors(ctx, own_part(ctx, op.results[0].type, view), view)]


def local_store(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.local_store``."""
    source, destination = op.operands
    view = ctx.shared_tensor(destination)
    store_vectors(ctx, ctx.registers(source), written_part(ctx, source.type, view), view)
    return []


def _indexed(ctx: Lowering, view: SharedTensor, indices: ir.Value, axis: int) -> list[ir.Value]:
    """Addresses of the elements at run-time indices along ``axis``, other coordinates being the tensor's."""
    if any(map(any, view.blocks)):
        raise Unsupported(
            "elements of a buffer split over the blocks of a cluster, by index", remedy="use num_ctas=1"
        )
    rows = tensor_coordinates(ctx, indices.type)
    found = []
    for row, index in zip(rows, ctx.registers(indices), strict=True):
        place = list(row)
        place[axis] = ctx.b.int_cast(index, ctx.b.i32)
        found.append(element_address(ctx, view, place))
    return found


def _axis(op: ir.Operation) -> int:
    return int(ir.IntegerAttr(op.attributes["axis"]).value)


def local_gather(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.local_gather``."""
    view = ctx.shared_tensor(op.operands[0])
    align = bit_width(view.element) // 8
    result = []
    for address in _indexed(ctx, view, op.operands[1], _axis(op)):
        value = ctx.hw.load_shared(ctx.b, address, view.element, None, align)
        result.append(from_memory(ctx.b, value, view.type))
    return [result]


def local_scatter(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.local_scatter``."""
    destination, values, indices = op.operands
    view = ctx.shared_tensor(destination)
    align = bit_width(view.element) // 8
    addresses = _indexed(ctx, view, indices, _axis(op))
    for address, value in zip(addresses, ctx.registers(values), strict=True):
        ctx.hw.store_shared(ctx.b, address, to_memory(ctx.b, value), None, align)
    return []


# --- views ------------------------------------------------------------------------------------------------


def memdesc_index(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.memdesc_index``: the parts along the leading dimension lie one after the other."""
    source = ctx.shared_tensor(op.operands[0])
    type_ = op.results[0].type
    view = shared_tensor(ctx, source.base, type_)
    stride = pad_offset(1 << view.layout.in_bits, view.padding)  # with the gap behind the last elements
    distance = ctx.b.mul(ctx.scalar(op.operands[1]), ctx.b.int_(stride))
    return [replace(view, base=ctx.b.gep(source.base, distance, view.element))]


def memdesc_subslice(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.memdesc_subslice``: a box at constant offsets, each a multiple of the box's size."""
    source = ctx.shared_tensor(op.operands[0])
    offsets = tuple(ir.DenseI32ArrayAttr(op.attributes["offsets"]))
    shape = op.results[0].type.shape
    if any(offset % size for offset, size in zip(offsets, shape, strict=True)):
        raise Unsupported(
            f"a slice of shared memory at {list(offsets)} of shape {list(shape)}",
            remedy="use offsets that are multiples of the shape",
        )
    whole = op.operands[0].type.shape
    if any(basis[d] and whole[d] != n for basis in source.blocks for d, n in enumerate(shape)):
        raise Unsupported(
            f"a slice of shared memory of shape {list(shape)} along a dimension that is split over a cluster",
            remedy="use num_ctas=1",
        )
    origin = tuple(a + b for a, b in zip(source.origin, offsets, strict=True))
    return [replace(source, origin=origin)]


def memdesc_trans(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.memdesc_trans``."""
    source = ctx.shared_tensor(op.operands[0])
    order = list(ir.DenseI32ArrayAttr(op.attributes["order"]))
    origin = tuple(source.origin[d] for d in order)
    blocks = permuted(source.blocks, order)
    return [replace(source, layout=views.permuted(source.layout, order), origin=origin, blocks=blocks)]


def memdesc_reshape(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.memdesc_reshape`` of a whole buffer."""
    source = ctx.shared_tensor(op.operands[0])
    type_ = op.results[0].type
    if any(source.origin) or list(op.operands[0].type.shape) != list(op.operands[0].type.alloc_shape):
        raise Unsupported("a reshape of a slice of shared memory", remedy="reshape the whole buffer")
    if any(map(any, source.blocks)):
        raise Unsupported("a reshape of a buffer split over a cluster", remedy="use num_ctas=1")
    layout: LinearLayout = views.row_major(source.layout, type_.shape)
    zeros = (0,) * len(type_.shape)
    return [replace(source, layout=layout, origin=zeros, blocks=(zeros,) * len(source.blocks))]


def memdesc_reinterpret(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.memdesc_reinterpret``."""
    return [shared_tensor(ctx, ctx.shared_tensor(op.operands[0]).base, op.results[0].type)]


# --- asynchronous copies, for targets that have none: done at once ----------------------------------------


def async_copy(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.async_copy_global_to_local``: a load and a store."""
    view = op.opview
    values: Registers = load_tensor(ctx, op, view.src, view.mask, view.other)
    buffer = ctx.shared_tensor(op.operands[1])
    store_vectors(ctx, values, written_part(ctx, view.src.type, buffer), buffer)
    return [Token()]


def token(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.async_commit_group``, ``ttg.async_wait``: nothing is under way."""
    return [Token()]


RULES: dict[str, Rule] = {
    "ttg.local_alloc": local_alloc,
    "ttg.local_dealloc": local_dealloc,
    "ttg.local_load": local_load,
    "ttg.local_store": local_store,
    "ttg.local_gather": local_gather,
    "ttg.local_scatter": local_scatter,
    "ttg.memdesc_index": memdesc_index,
    "ttg.memdesc_subslice": memdesc_subslice,
    "ttg.memdesc_trans": memdesc_trans,
    "ttg.memdesc_reshape": memdesc_reshape,
    "ttg.memdesc_reinterpret": memdesc_reinterpret,
    "ttg.async_copy_global_to_local": async_copy,
    "ttg.async_commit_group": token,
    "ttg.async_wait": token,
}
