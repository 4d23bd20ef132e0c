"""Accesses of descriptors: 2D blocks, as large as they come."""

from __future__ import annotations

from typing import Any

from tri_backend_intel.dialect import BlockPrefetchOp
from tri_backend_intel.transforms.slice_dots import is_loaded_for
from tri_backend_intel.xegpu.conversion import DYNAMIC, Awaited, Conversion, Known, plain
from tri_backend_intel.xegpu.layouts import LANES, lane_layout
from tri_backend_intel.xegpu.operands import load_operand
from tri_backend_intel.xegpu.own_sources import dot_of
from tri_backend_intel.xegpu.places import Place, numbers
from tri_core.mlir import ir

__all__ = ["load_block", "prefetch_block", "store_block"]

#: rows of a block that is stored
_STORED_ROWS = 8
#: of a prefetched block: bits of a row, rows
_PREFETCH_BITS, _PREFETCH_ROWS = 512, 32
#: bits of a row of one of the blocks that are prefetched beside each other
_PREFETCH_WIDTH = 256


def load_block(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """Registers for dots, which alone take blocks."""
    dots = [dot_of(use) for use in op.results[0].uses]
    role, transposed = dots[0][1:]
    if len(dots) == 1 and is_loaded_for(op, dots[0][0]):
        return [Awaited(op, transposed)]
    return [load_operand(ctx, op, role, transposed=transposed)]


def store_block(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """Pieces of up to 8 rows."""
    value = ctx.pieces_of(op.operands[1])
    share = value.share
    element = ctx.element(op.operands[1])
    layout = lane_layout()

    def put() -> None:
        place = Place(ctx, op, list(op.operands)[2:])
        for index in share.indices():
            piece = value.at(index)
            for first in range(0, share.piece[0], _STORED_ROWS):
                count = min(_STORED_ROWS, share.piece[0])
                where = place.at(share, index, further=first)
                tile = _descriptor(place, [count, LANES], element, layout)
                ctx.make(
                    "xegpu.store_nd", [ctx.rows(piece, first, count), tile, *where],
                    const_offsets=_given(), layout=layout,
                )  # fmt: skip

    ctx.once(share, put)
    return []


def prefetch_block(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """Rows of 64 bytes, shared by the sub-groups; fewer rows than sub-groups are not prefetched: a hint."""
    block = op.operands[0].type.block_type
    rows, columns = block.shape
    element = plain(block.element_type)
    wide, warps = min(columns, _PREFETCH_BITS // element.width), ctx.grid.warps
    across = columns // wide
    tall = min(rows * across // warps, _PREFETCH_ROWS) if across <= warps else 0
    if not tall or wide % LANES:
        return []
    place = Place(ctx, op, list(op.operands)[1:])
    number = ctx.one("gpu.subgroup_id", [], ctx.index)
    beside = ctx.number(ctx.index, across)
    row = ctx.one("arith.divui", [number, beside], ctx.index)
    column = ctx.one("arith.remui", [number, beside], ctx.index)
    where = [
        ctx.one(
            "arith.addi",
            [start, ctx.one("arith.muli", [at, ctx.number(ctx.index, step)], ctx.index)],
            ctx.index,
        )
        for start, at, step in zip(place.start, (row, column), (tall, wide), strict=True)
    ]
    size = element.width // 8
    width = min(wide, _PREFETCH_WIDTH // element.width)
    attributes = numbers(bits=element.width, width=width, rows=tall, count=wide // width)
    step = warps // across * tall
    for first in range(0, rows, step):
        down = where[0]
        if first:
            down = ctx.one("arith.addi", [down, ctx.number(ctx.index, first)], ctx.index)
        BlockPrefetchOp.build(place.block(where[1], down, size), [], attributes)
    return []


def _given() -> ir.Attribute:
    """Both offsets are operands."""
    return ir.DenseI64ArrayAttr.get([DYNAMIC] * 2)


def _descriptor(place: Place, shape: list[int], element: ir.Type, layout: Any) -> ir.Value:
    """Of blocks of ``shape``."""
    ctx, surface = place.ctx, place.surface
    type_ = ir.Type.parse(f"!xegpu.tensor_desc<{'x'.join(map(str, shape))}x{element}, {layout}>")
    dynamic = ir.DenseI64ArrayAttr.get([DYNAMIC] * 2)
    operands = [surface.address, surface.height, surface.width, surface.pitch, ctx.number(ctx.index, 1)]
    return ctx.one(
        "xegpu.create_nd_tdesc", operands, type_,
        const_shape=dynamic, const_strides=dynamic, operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 2, 2]),
    )  # fmt: skip
