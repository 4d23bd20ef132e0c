"""The rules of blocks of descriptors: 2D blocks of the hardware, as large as they come, and accesses by elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tri_backend_intel.dialect.blocks import BlockLoadOp, BlockPrefetchOp, BlockStoreOp, Form
from tri_backend_intel.dialect.encoding import Dpas
from tri_backend_intel.dialect.tiles import BY_ELEMENTS, coordinates, is_transposed
from tri_backend_intel.lowering.surfaces import Surface, make_surface
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import DotOperand, decode
from tri_gpu_dialect.layouts import REGISTER, WARP
from tri_gpu_dialect.lowering import Access, Lowered, Lowering
from tri_gpu_dialect.lowering.indices import apply, is_owner, tensor_coordinates
from tri_gpu_dialect.lowering.table import Rule
from tri_gpu_dialect.lowering.words import bit_width

__all__ = ["RULES"]

#: of a block: bytes of a row, rows; a transposed one has rows of 8 times 32 bits
_ROW_BITS, _ROWS, _TRANSPOSED = 512, 32, 8
_PREFETCH_BITS = 256


# --- 2D blocks --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Shape:
    """A block: ``count`` times ``rows`` rows of ``width`` elements of ``bits``, each of which holds ``per`` of the tensor."""

    form: Form
    bits: int
    per: int
    width: int
    rows: int
    count: int
    lanes: int

    @property
    def columns(self) -> int:
        """Of the tensor."""
        return self.width * self.per * self.count

    @property
    def results(self) -> int:
        """Elements of the tensor that a lane has."""
        own = self.width if self.form is Form.TRANSPOSED else self.rows * self.width // self.lanes
        return own * self.count * self.per

    def result(self, row: int, column: int) -> int:
        """The number of the result that an element of the block is, for the lane that has it."""
        if self.form is Form.TRANSPOSED:
            return column
        block, inner = divmod(column, self.width * self.per)
        first = (block * self.rows + row) * self.width // self.lanes
        return first * self.per + inner % self.per


def _shape(encoding: DotOperand, bits: int, extent: tuple[int, int], *, transposed: bool) -> _Shape:
    """The largest block of an operand, of which a warp has registers ``extent`` down and across."""
    parent = encoding.parent
    assert isinstance(parent, Dpas)
    lanes, (down, across) = parent.execution_size, extent
    rows = min(_power(down), _ROWS)
    if transposed:  # lanes are rows in memory, of which B has columns and A has k
        words = (down if encoding.op_idx else across) * bits // 32
        width = max(min(_TRANSPOSED, _power(words)), 1)
        return _Shape(Form.TRANSPOSED, 32, 32 // bits, width, lanes, 1, lanes)
    most = max(_ROW_BITS // bits // lanes, 1)
    if encoding.op_idx:
        form = Form.VNNI if bits < 32 else Form.PLAIN
        return _Shape(form, bits, 1, lanes, rows, min(_power(-(-across // lanes)), most), lanes)
    width = min(parent.depth // parent.left_width, lanes)
    per = parent.left_width
    count = max(min(_power(across // (width * per)), _ROW_BITS // (bits * per * width)), 1)
    return _Shape(Form.PLAIN, bits * per, per, width, rows, count, lanes)


def _power(number: int) -> int:
    """The largest power of two that is at most ``number``, and 1."""
    return 1 << max(number.bit_length() - 1, 0)


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


def _whole(encoding: DotOperand, size: Sequence[int], places: Sequence[Sequence[int]]) -> tuple[int, int]:
    """How far a warp's elements reach from its first one: lanes have what registers do not."""
    parent = encoding.parent
    assert isinstance(parent, Dpas)
    fragment = parent.fragment(encoding.op_idx, 0)
    reach = [max(axis) for axis in zip(*places, strict=True)]
    for basis in fragment.bases["lane"]:
        reach = [have | own for have, own in zip(reach, basis, strict=True)]
    down, across = (min(r + 1, s) for r, s in zip(reach, size, strict=True))
    return down, across


def tile_load(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttig.tile_load``: each register is one of a block's results."""
    if BY_ELEMENTS in op.attributes:
        return load_elements(ctx, op)
    b, type_ = ctx.b, op.results[0].type
    surface, layout = ctx.expect(op.operands[0], Surface), ctx.layout(type_)
    encoding, element, transposed = decode(type_.encoding), ctx.storage(type_), is_transposed(op)
    places = [layout.unpack_out(image) for image in layout.images(REGISTER)]
    assert isinstance(encoding, DotOperand)
    shape = _shape(encoding, element.width, _whole(encoding, type_.shape, places), transposed=transposed)
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
    wide = min(columns, _ROW_BITS // bits)
    across = columns // wide
    tall = min(max(rows * across // ctx.num_warps, 1), _ROWS)
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


def _address(
    ctx: Lowering, surface: Surface, lead: Sequence[ir.Value], place: Sequence[ir.Value], size: int
) -> tuple[ir.Value, ir.Value]:
    """Address of an element of a block, and whether it is inside of the tensor."""
    b = ctx.b
    y, x = (b.add(a, c) for a, c in zip(lead, place, strict=True))
    inside = b.and_(b.cmp("ult", x, surface.columns), b.cmp("ult", y, surface.rows))
    row = b.mul(b.int_cast(y, b.i64, signed=True), surface.stride)
    offset = b.add(row, b.int_cast(x, b.i64, signed=True))
    return b.gep(surface.pointer, offset, b.int_type(size)), inside


def load_elements(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """A block in any layout, a branch for each element: the driver's compiler does not move loads together then, and spills none."""
    b, type_ = ctx.b, op.results[0].type
    surface, held = ctx.expect(op.operands[0], Surface), ctx.storage(type_)
    lead, bits = [ctx.scalar(v) for v in coordinates(op)], bit_width(held)
    places = tensor_coordinates(ctx, type_)

    access, found = Access(bits // 8), dict[tuple[ir.Value, ...], ir.Value]()
    for place in places:
        if place not in found:
            own = place[::-1] if is_transposed(op) else place
            address, inside = _address(ctx, surface, lead, own, bits)
            found[place] = ctx.hw.load_global(b, address, held, inside, b.zero(held), access)
    return [[found[place] for place in places]]


def store_elements(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """A block from any layout, an access for each element."""
    b, value = ctx.b, op.operands[1]
    surface, held = ctx.expect(op.operands[0], Surface), ctx.storage(value.type)
    lead, bits = [ctx.scalar(v) for v in coordinates(op)], bit_width(held)
    owner = is_owner(ctx, ctx.layout(value.type))
    for place, register in zip(tensor_coordinates(ctx, value.type), ctx.registers(value), strict=True):
        address, inside = _address(ctx, surface, lead, place, bits)
        inside = inside if owner is None else b.and_(inside, owner)
        ctx.hw.store_global(b, address, register, inside, Access(bits // 8))
    return []


RULES: dict[str, Rule] = {
    "tt.make_tensor_descriptor": make_surface,
    "tt.descriptor_load": load_elements,
    "tt.descriptor_store": store_elements,
    "ttig.tile_load": tile_load,
    "ttig.tile_store": tile_store,
    "ttig.tile_prefetch": tile_prefetch,
}
