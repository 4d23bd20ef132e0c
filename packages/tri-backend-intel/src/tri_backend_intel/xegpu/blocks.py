"""Accesses of descriptors: 2D blocks, as large as they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tri_backend_intel.xegpu.conversion import DYNAMIC, Conversion, Known, Pieces, plain
from tri_backend_intel.xegpu.layouts import LANES, lane_layout, turned_layout
from tri_backend_intel.xegpu.own_sources import role_of
from tri_backend_intel.xegpu.shares import Share
from tri_core.mlir import ir

__all__ = ["load_block", "prefetch_block", "store_block"]

#: rows of the largest block that is loaded
_LOADED_ROWS = 32
#: rows of a block that is stored
_STORED_ROWS = 8
#: of a prefetched block: bits of a row, rows
_PREFETCH_BITS, _PREFETCH_ROWS = 512, 32
_WORD = 32


def load_block(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """Blocks of up to 32 rows, cut into pieces; what lies along the lanes in columns of memory is loaded transposed."""
    (result,) = op.results
    share, element = ctx.share(result), ctx.element(result)
    right = _is_right(op)
    packed = _WORD // element.width if right and element.width < _WORD else 1
    place = _Place(ctx, op, list(op.operands)[1:])
    if share.along == 0:
        return [
            Pieces(share, tuple(place.turned(share, index, element, packed) for index in share.indices()))
        ]
    piece = share.dims[0].piece
    tall = min(_LOADED_ROWS, share.dims[0].share)
    found: dict[tuple[int, ...], ir.Value] = {}
    for row, column in share.indices():
        if row * piece % tall:
            continue
        whole = place.load(share, (row, column), [tall, LANES], element, lane_layout(packed=packed))
        for i in range(tall // piece):
            found[row + i, column] = ctx.rows(whole, i * piece, piece)
    return [Pieces(share, tuple(found[index] for index in share.indices()))]


def store_block(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """Pieces of up to 8 rows."""
    value = ctx.pieces_of(op.operands[1])
    share = value.share
    element = ctx.element(op.operands[1])
    layout = lane_layout()

    def put() -> None:
        place = _Place(ctx, op, list(op.operands)[2:])
        for index in share.indices():
            piece = value.at(index)
            for first in range(0, share.piece[0], _STORED_ROWS):
                count = min(_STORED_ROWS, share.piece[0])
                where = place.at(share, index, further=first)
                tile = place.descriptor([count, LANES], element, layout)
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
    place = _Place(ctx, op, list(op.operands)[1:])
    number = ctx.one("gpu.subgroup_id", [], ctx.index)
    size = ctx.number(ctx.index, across)
    row = ctx.one("arith.divui", [number, size], ctx.index)
    column = ctx.one("arith.remui", [number, size], ctx.index)
    where = [
        ctx.one(
            "arith.addi",
            [start, ctx.one("arith.muli", [at, ctx.number(ctx.index, step)], ctx.index)],
            ctx.index,
        )
        for start, at, step in zip(place.start, (row, column), (tall, wide), strict=True)
    ]
    tile = place.descriptor([tall, LANES], element, lane_layout(), count=wide // LANES)
    step = warps // across * tall
    for first in range(0, rows, step):
        down = where[0]
        if first:
            down = ctx.one("arith.addi", [down, ctx.number(ctx.index, first)], ctx.index)
        ctx.make("xegpu.prefetch_nd", [tile, down, where[1]], const_offsets=_given(), layout=lane_layout())
    return []


def _is_right(load: ir.Operation) -> bool:
    """Whether a dot takes it as its second operand."""
    return any(role_of(use)[:2] == ("tt.dot", 1) for use in load.results[0].uses)


def _given() -> ir.Attribute:
    """Both offsets are operands."""
    return ir.DenseI64ArrayAttr.get([DYNAMIC] * 2)


class _Place:
    """The surface of an access, and where its block begins there."""

    def __init__(self, ctx: Conversion, access: ir.Operation, indices: Sequence[ir.Value]) -> None:
        self.ctx = ctx
        self.surface = ctx.surfaces[access.operands[0]]
        row, column = (ctx.cast(ctx.number_of(v), ctx.index) for v in indices)
        self.start = [row, ctx.one("arith.addi", [column, self.surface.shift], ctx.index)]

    def descriptor(self, shape: list[int], element: ir.Type, layout: Any, count: int = 1) -> ir.Value:
        """Of blocks of ``shape``, ``count`` beside each other."""
        ctx, surface = self.ctx, self.surface
        several = f"#xegpu.block_tdesc_attr<array_length = {count} : i64>, " if count > 1 else ""
        type_ = ir.Type.parse(f"!xegpu.tensor_desc<{'x'.join(map(str, shape))}x{element}, {several}{layout}>")
        dynamic = ir.DenseI64ArrayAttr.get([DYNAMIC] * 2)
        operands = [surface.address, surface.height, surface.width, surface.pitch, ctx.number(ctx.index, 1)]
        return ctx.one(
            "xegpu.create_nd_tdesc", operands, type_,
            const_shape=dynamic, const_strides=dynamic, operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 2, 2]),
        )  # fmt: skip

    def at(self, share: Share, index: Sequence[int], further: int = 0) -> list[ir.Value]:
        """Where the piece at ``index`` begins, ``further`` rows down."""
        ctx = self.ctx
        found = []
        for dim, start in enumerate(self.start):
            step = ctx.start(share, dim, index)
            if further and dim == 0:
                step = ctx.one("arith.addi", [step, ctx.number(ctx.index, further)], ctx.index)
            found.append(ctx.one("arith.addi", [start, step], ctx.index))
        return found

    def load(
        self, share: Share, index: Sequence[int], shape: list[int], element: ir.Type, layout: Any
    ) -> ir.Value:
        """A block of ``shape`` from where the piece at ``index`` begins."""
        tile = self.descriptor(shape, element, layout)
        type_ = ir.VectorType.get(shape, element)
        return self.ctx.one(
            "xegpu.load_nd", [tile, *self.at(share, index)], type_, const_offsets=_given(), layout=layout
        )

    def turned(self, share: Share, index: Sequence[int], element: ir.Type, packed: int) -> ir.Value:
        """A piece whose lanes are rows of memory."""
        tall = share.dims[1].piece
        lying = self.load(share, index, [LANES, tall], element, turned_layout(packed=packed))
        order = ir.DenseI64ArrayAttr.get([1, 0])
        return self.ctx.one(
            "vector.transpose", [lying], ir.VectorType.get([tall, LANES], element), permutation=order
        )
