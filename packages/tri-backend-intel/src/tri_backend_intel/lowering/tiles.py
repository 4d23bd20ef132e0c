"""The rules of blocks of descriptors: 2D blocks of the hardware, as large as they come, and accesses by elements."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from tri_backend_intel.dialect.blocks import BlockLoadOp, BlockPrefetchOp, BlockStoreOp
from tri_backend_intel.dialect.encoding import Dpas
from tri_backend_intel.dialect.tiles import BY_ELEMENTS, coordinates, is_transposed
from tri_backend_intel.lowering.block_shapes import ROW_BITS, ROWS, block_shape, extent_of
from tri_backend_intel.lowering.surfaces import Surface, make_surface
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import DotOperand, decode
from tri_gpu_dialect.layouts import REGISTER, WARP
from tri_gpu_dialect.lowering import Access, Lowered, Lowering
from tri_gpu_dialect.lowering.indices import apply, is_owner, reach
from tri_gpu_dialect.lowering.table import Rule
from tri_gpu_dialect.lowering.words import bit_width, from_words

__all__ = ["RULES", "SLICES"]

_PREFETCH_BITS = 256


# --- 2D blocks --------------------------------------------------------------------------------------------


def _attributes(ctx: Lowering, **numbers: int) -> dict[str, ir.Attribute]:
    return {name: ir.IntegerAttr.get(ctx.b.i32, number) for name, number in numbers.items()}


def _build(
    cls: Any,
    surface: Surface,
    place: tuple[ir.Value, ir.Value],
    attributes: dict[str, ir.Attribute],
    **more: Any,
) -> Any:
    """A block op of class ``cls`` at ``place`` (x, y)."""
    values = list(more.get("values", ()))
    if values:
        attributes = attributes | {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1] * 6 + [len(values)])}
    operands = [surface.base, surface.width, surface.height, surface.pitch, *place, *values]
    return cls.build(operands, list(more.get("results", ())), attributes)


def tile_load(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttig.tile_load``: each register is one of a block's results."""
    if BY_ELEMENTS in op.attributes:
        return load_elements(ctx, op)
    b, type_ = ctx.b, op.results[0].type
    surface, layout = ctx.expect(op.operands[0], Surface), ctx.layout(type_)
    encoding, element, transposed = decode(type_.encoding), ctx.storage(type_), is_transposed(op)
    places = [layout.unpack_out(image) for image in layout.images(REGISTER)]
    assert isinstance(encoding, DotOperand)
    shape = block_shape(
        encoding, element.width, extent_of(encoding, type_.shape, places), transposed=transposed
    )
    y0, x0 = _start(ctx, op, apply(b, layout, {WARP: ctx.warp}), surface)
    blocks: dict[tuple[int, int], Any] = {}
    found = []
    for place in places:
        row, column = place[::-1] if transposed else place
        key = row // shape.rows * shape.rows, column // shape.columns * shape.columns
        if key not in blocks:
            x = b.lshr(b.add(x0, b.int_(key[1])), shape.per.bit_length() - 1)
            numbers = _attributes(
                ctx, bits=shape.bits, width=shape.width, rows=shape.rows, count=shape.count, form=shape.form
            )
            results = [element] * shape.results
            blocks[key] = _build(
                BlockLoadOp, surface, (x, b.add(y0, b.int_(key[0]))), numbers, results=results
            )
        found.append(blocks[key][shape.result(row - key[0], column - key[1])])
    return [found]


def _start(
    ctx: Lowering, op: ir.Operation, own: Sequence[ir.Value], surface: Surface
) -> tuple[ir.Value, ir.Value]:
    """Row and column of the surface where this warp's part of a block begins."""
    b = ctx.b
    down, across = own[::-1] if is_transposed(op) else own
    row, column = (ctx.scalar(v) for v in coordinates(op))
    return b.add(row, down), b.add(b.add(column, across), surface.shift)


def tile_store(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttig.tile_store``: a block for what one DPAS gives."""
    if BY_ELEMENTS in op.attributes:
        return store_elements(ctx, op)
    b, value = ctx.b, op.operands[1]
    surface, layout = ctx.expect(op.operands[0], Surface), ctx.layout(value.type)
    encoding, bits = decode(value.type.encoding), bit_width(ctx.storage(value.type))
    assert isinstance(encoding, Dpas)
    y0, x0 = _start(ctx, op, apply(b, layout, {WARP: ctx.warp}), surface)
    tiles: dict[tuple[int, int], dict[int, ir.Value]] = {}
    size = encoding.repeat_count
    for image, register in zip(layout.images(REGISTER), ctx.registers(value), strict=True):
        row, column = layout.unpack_out(image)
        tiles.setdefault((row // size * size, column), {})[row % size] = register
    numbers = _attributes(ctx, bits=bits, width=encoding.execution_size, rows=size, count=1)
    owner = is_owner(ctx, layout)

    def store() -> None:
        for (row, column), rows in tiles.items():
            place = b.add(x0, b.int_(column)), b.add(y0, b.int_(row))
            _build(BlockStoreOp, surface, place, numbers, values=[rows[i] for i in range(size)])

    store() if owner is None else b.if_(owner, store)
    return []


def tile_prefetch(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttig.tile_prefetch``: rows of 64 bytes, shared by the warps; warps beyond them repeat."""
    b, surface = ctx.b, ctx.expect(op.operands[0], Surface)
    block = op.operands[0].type.block_type
    rows, columns = block.shape
    bits = block.element_type.width
    wide = min(columns, ROW_BITS // bits)
    across = columns // wide
    tall = min(max(rows * across // ctx.num_warps, 1), ROWS)
    pieces = rows * across // tall
    row, column = (ctx.scalar(v) for v in coordinates(op))
    width = min(wide, _PREFETCH_BITS // bits)
    numbers = _attributes(ctx, bits=bits, width=width, rows=tall, count=wide // width)
    for first in range(0, pieces, ctx.num_warps):
        piece = b.add(ctx.warp, b.int_(first))
        down = b.and_(b.lshr(piece, across.bit_length() - 1), b.int_(rows // tall - 1))
        y = b.add(row, b.mul(down, b.int_(tall)))
        x = b.add(b.add(column, b.mul(b.and_(piece, b.int_(across - 1)), b.int_(wide))), surface.shift)
        _build(BlockPrefetchOp, surface, (x, y), numbers)
    return []


# --- by elements ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Elements:
    """The elements of an accessed block that this thread has, in order of its registers.

    ``start``: row and column of its first one, ``address`` of that, ``offsets`` of all from there (i32).  All addresses are made
    of the first one, which moves with the loop: addresses that a loop does not move would live through it, each in registers.
    """

    ctx: Lowering
    surface: Surface
    start: Sequence[ir.Value]
    address: ir.Value
    offsets: Sequence[tuple[ir.Value, ...]]
    bits: int

    @classmethod
    def of(cls, ctx: Lowering, op: ir.Operation, type_: ir.Type) -> _Elements:
        """Of the access ``op``, by a tensor of ``type_``."""
        b, layout, inputs = ctx.b, ctx.layout(type_), ctx.inputs()
        surface, bits = ctx.expect(op.operands[0], Surface), bit_width(ctx.storage(type_))
        turn = slice(None, None, -1 if is_transposed(op) else 1)
        own, reached = apply(b, layout, inputs), reach(layout, list(inputs))
        places = [layout.unpack_out(image) for image in layout.images(REGISTER)]

        def offset(dim: int, place: int) -> ir.Value:
            fixed = b.int_(place)
            return b.sub(b.xor(own[dim], fixed), own[dim]) if place & reached[dim] else fixed

        offsets = [tuple(offset(d, n) for d, n in enumerate(place))[turn] for place in places]
        start = [b.add(ctx.scalar(c), o) for c, o in zip(coordinates(op), own[turn], strict=True)]
        y, x = (b.int_cast(v, b.i64, signed=True) for v in start)
        address = b.gep(surface.pointer, b.add(b.mul(y, surface.stride), x), b.int_type(bits))
        return cls(ctx, surface, start, address, offsets, bits)

    def at(self, offset: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value]:
        """The address of an element, and whether it is inside of the tensor."""
        b = self.ctx.b
        y, x = (b.add(a, c) for a, c in zip(self.start, offset, strict=True))
        inside = b.and_(b.cmp("ult", x, self.surface.columns), b.cmp("ult", y, self.surface.rows))
        down, across = (b.int_cast(v, b.i64, signed=True) for v in offset)
        further = b.add(b.mul(down, self.surface.stride), across)
        return b.gep(self.address, further, b.int_type(self.bits)), inside


def load_elements(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """A block in any layout, a branch for each element: the driver's compiler does not move loads together then, and spills none.

    What shares a word of 32 bits is put there at once: a register of its own for each byte is four times as many.
    """
    b, type_ = ctx.b, op.results[0].type
    held, elements = ctx.storage(type_), _Elements.of(ctx, op, type_)
    distinct = list(dict.fromkeys(elements.offsets))
    per = max(32 // elements.bits, 1)
    found: dict[tuple[ir.Value, ...], ir.Value] = {}
    for first in range(0, len(distinct), per):
        part = distinct[first : first + per]
        found.update(zip(part, from_words(b, [_load_word(elements, part)], held, len(part)), strict=True))
    return [[found[offset] for offset in elements.offsets]]


def _load_word(elements: _Elements, offsets: Sequence[tuple[ir.Value, ...]]) -> ir.Value:
    """The elements at ``offsets`` in 32 bits, the first one lowest."""
    b, bits = elements.ctx.b, elements.bits
    word = b.int_(0)
    for i, offset in enumerate(offsets):
        address, inside = elements.at(offset)

        def put(address: ir.Value = address, word: ir.Value = word, shift: int = i * bits) -> list[ir.Value]:
            got = b.int_cast(b.load(address, b.int_type(bits), bits // 8), b.i32)
            return [b.or_(word, b.shl(got, shift)) if shift else got]

        def keep(word: ir.Value = word) -> list[ir.Value]:
            return [word]

        word = b.if_(inside, put, keep, [b.i32])[0]
    return word


def store_elements(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """A block from any layout, an access for each element, row by row: a row's numbers are gone before the next one's are needed."""
    b, value = ctx.b, op.operands[1]
    elements = _Elements.of(ctx, op, value.type)
    layout = ctx.layout(value.type)
    owner = is_owner(ctx, layout)
    places = [layout.unpack_out(image) for image in layout.images(REGISTER)]
    for _, offset, register in sorted(
        zip(places, elements.offsets, ctx.registers(value), strict=True), key=itemgetter(0)
    ):
        address, inside = elements.at(offset)
        inside = inside if owner is None else b.and_(inside, owner)
        ctx.hw.store_global(b, address, register, inside, Access(elements.bits // 8))
    return []


def register_slice(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttig.register_slice``: some of the source's registers."""
    source, type_ = op.operands[0], op.results[0].type
    offsets = list(ir.DenseI32ArrayAttr(op.attributes["offsets"]))
    whole, part = ctx.layout(source.type), ctx.layout(type_)
    places = [whole.unpack_out(image) for image in whole.images(REGISTER)]
    known = dict(zip(places, ctx.registers(source), strict=True))
    wanted = [part.unpack_out(image) for image in part.images(REGISTER)]
    return [[known[tuple(a + o for a, o in zip(place, offsets, strict=True))] for place in wanted]]


#: of what a dot's slices are made of, where there are no blocks
SLICES: dict[str, Rule] = {"ttig.register_slice": register_slice}

RULES: dict[str, Rule] = {
    **SLICES,
    "tt.make_tensor_descriptor": make_surface,
    "tt.descriptor_load": load_elements,
    "tt.descriptor_store": store_elements,
    "ttig.tile_load": tile_load,
    "ttig.tile_store": tile_store,
    "ttig.tile_prefetch": tile_prefetch,
}
