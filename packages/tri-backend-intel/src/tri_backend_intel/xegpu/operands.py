"""Operands of dots in registers, as an instruction takes them: from 2D blocks as large as they come, or from pieces.

Source: SPV_INTEL_2d_block_io and SPV_INTEL_subgroup_matrix_multiply_accumulate.  Of B a lane has a column, of A neighbours along k, or,
of 32 bits, every second row.  k may be summed in any order, if both operands have the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from tri_backend_intel.dialect import BlockLoadOp, Dealt, Dpas
from tri_backend_intel.dialect.blocks import AT_FIRST_USE
from tri_backend_intel.lowering.block_shapes import BlockShape, block_shape
from tri_backend_intel.xegpu.conversion import Conversion, Operand, Pieces, element_of, stored
from tri_backend_intel.xegpu.lane_ops import lanes
from tri_backend_intel.xegpu.layouts import LANES
from tri_backend_intel.xegpu.places import Place, numbers
from tri_backend_intel.xegpu.shares import TALL, Share
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import DotOperand
from tri_gpu_dialect.layouts import REGISTER

__all__ = ["load_operand", "operand_of"]

_WORD = 32
Registers = tuple[ir.Value, ...]
Parts = dict[tuple[int, int], Registers]


def load_operand(
    ctx: Conversion, op: ir.Operation, role: int, *, transposed: bool, along: range | None = None
) -> Operand:
    """Operand ``role`` of dots, or its transpose in memory: all that a sub-group has of it, or what instructions number ``along`` k take."""
    share, element = ctx.share(op.results[0]), ctx.element(op.results[0])
    share = share.transposed((1, 0)) if transposed else share
    encoding = _encoding(share, role, element.width)
    rows, columns = share.dims[0].share, share.dims[1].share
    sliced = 0
    if along is not None:
        sliced, deep = along.start, len(along) * encoding.depth
        rows, columns = (deep, columns) if role else (rows, deep)
    extent = rows, columns
    shape = block_shape(DotOperand(role, encoding), element.width, extent, transposed=transposed)
    layout = encoding.fragment(role, 0)
    places = [layout.unpack_out(image) for image in layout.images(REGISTER)]
    step = (encoding.repeat_count, encoding.depth) if role == 0 else (encoding.depth, LANES)
    blocks = _Blocks.of(ctx, op, share, shape, transposed=transposed, late=along is not None)
    parts = Parts()
    for i, j in product(*(range(n // s) for n, s in zip(extent, step, strict=True))):
        at = (i + sliced, j) if role else (i, j + sliced)
        first = at[0] * step[0], at[1] * step[1]
        parts[at] = tuple(blocks.at([f + p for f, p in zip(first, place, strict=True)]) for place in places)
    return Operand(_kind(op.results[0]), parts)


def _kind(value: ir.Value) -> str:
    """The source's element type: floats of 8 bits are carried as bits."""
    return str(value.type.element_type)


def _encoding(share: Share, role: int, bits: int) -> Dpas:
    """Of one instruction, whose result has up to 8 rows."""
    rows = min(TALL, share.dims[0].share) if role == 0 else TALL
    return Dpas(repeat_count=rows, ops_per_channel=_WORD // bits)


@dataclass(frozen=True)
class _Blocks:
    """The blocks of one access, loaded when an element of theirs is asked for first."""

    ctx: Conversion
    place: Place
    start: Sequence[ir.Value]
    shape: BlockShape
    element: ir.Type
    transposed: bool
    late: bool
    loaded: dict[tuple[int, int], Sequence[ir.Value]]

    @classmethod
    def of(
        cls,
        ctx: Conversion,
        op: ir.Operation,
        share: Share,
        shape: BlockShape,
        *,
        transposed: bool,
        late: bool,
    ) -> _Blocks:
        """``share`` is the operand's; ``late``: nothing is written before an element's first use."""
        lying = share.transposed((1, 0)) if transposed else share
        place = Place(ctx, op, list(op.operands)[1:])
        start = place.at(lying, (0, 0))
        return cls(ctx, place, start, shape, stored(ctx.element(op.results[0])), transposed, late, {})

    def at(self, place: Sequence[int]) -> ir.Value:
        """Value of the first lane at ``place`` of the operand."""
        row, column = place[::-1] if self.transposed else place
        shape = self.shape
        key = row // shape.rows * shape.rows, column // shape.columns * shape.columns
        if key not in self.loaded:
            self.loaded[key] = self._load(key)
        return self.loaded[key][shape.result(row - key[0], column - key[1])]

    def _load(self, key: tuple[int, int]) -> Sequence[ir.Value]:
        ctx, shape = self.ctx, self.shape
        y, x = (
            ctx.one("arith.addi", [start, ctx.number(ctx.index, at)], ctx.index)
            for start, at in zip(self.start, key, strict=True)
        )
        if shape.per > 1:
            x = self._words(x)
        size = self.element.width // 8
        attributes = numbers(
            bits=shape.bits, width=shape.width, rows=shape.rows, count=shape.count, form=int(shape.form)
        )
        if self.late:
            attributes[AT_FIRST_USE] = ir.UnitAttr.get()
        return BlockLoadOp.build(self.place.block(x, y, size), [self.element] * shape.results, attributes)

    def _words(self, x: ir.Value) -> ir.Value:
        """A multiple of words, which may be below 0, in words; in 32 bits, as coordinates are: IGC keeps what 64 take all the way."""
        ctx, i32 = self.ctx, ir.IntegerType.get_signless(32)
        shift = ctx.number(i32, self.shape.per.bit_length() - 1)
        return ctx.cast(ctx.one("arith.shrsi", [ctx.cast(x, i32), shift], i32), ctx.index)


# --- from pieces ------------------------------------------------------------------------------------------


def operand_of(ctx: Conversion, value: ir.Value, role: int) -> Operand:
    """Registers of ``value``, an operand of a dot."""
    known = ctx.known[value]
    if isinstance(known, Operand):
        return known
    assert isinstance(known, Pieces)
    element = ctx.element(value)
    return Operand(_kind(value), *(_right if role else _left)(ctx, known, element))


def _left(ctx: Conversion, pieces: Pieces, element: ir.Type) -> tuple[Parts, bool]:
    """Rows of the result; a lane has every 16th k, so that an instruction's may be strided."""
    share, parts = pieces.share, Parts()
    per = 256 // element.width // LANES  # pieces of an instruction's k, or 0: half a piece
    tall = share.dims[0].piece
    rows = min(TALL, share.dims[0].share)
    for row in range(share.dims[0].share // rows):
        at, first = divmod(row * rows, tall)
        cut = [ctx.rows(pieces.at((at, k)), first, rows) for k in range(share.counts[1])]
        if not per:
            for k, piece in enumerate(cut):
                parts[row, 2 * k], parts[row, 2 * k + 1] = _halves(ctx, piece)
            continue
        split = [_registers(ctx, piece) for piece in cut]
        for k in range(len(split) // per):
            own = split[k * per : (k + 1) * per]
            parts[row, k] = tuple(v for neighbours in zip(*own, strict=True) for v in neighbours)
    return parts, per > 1


def _right(ctx: Conversion, pieces: Pieces, element: ir.Type) -> tuple[Parts]:
    share, parts = pieces.share, Parts()
    depth, tall = 256 // element.width, share.dims[0].piece
    for column in range(share.counts[1]):
        for k in range(share.dims[0].share // depth):
            at, first = divmod(k * depth, tall)
            parts[k, column] = _registers(ctx, ctx.rows(pieces.at((at, column)), first, depth))
    return (parts,)


def _registers(ctx: Conversion, piece: ir.Value) -> Registers:
    """A lane's elements of ``piece``, one for each row."""
    own = stored(element_of(piece)), Dealt.OWN
    return tuple(lanes(ctx, "registers", [(piece, Dealt.PIECE)], [own] * piece.type.shape[0]))


def _halves(ctx: Conversion, piece: ir.Value) -> tuple[Registers, Registers]:
    """Both instructions' rows of a piece of 32 bits: the lower half of the lanes has even rows, the upper one odd ones."""
    rows = piece.type.shape[0]
    own = element_of(piece), Dealt.OWN
    found = lanes(ctx, "halves", [(piece, Dealt.PIECE)], [own] * rows)
    return tuple(found[: rows // 2]), tuple(found[rows // 2 :])
