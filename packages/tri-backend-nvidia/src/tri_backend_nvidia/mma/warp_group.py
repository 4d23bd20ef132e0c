"""``ttng.warp_group_dot`` by ``wgmma``: tiles of the result, steps of k, and the descriptors of operands in memory.

Where a tile's operands lie follows from the buffer's linear layout: its inverse gives the offset of the tile's first element.
Within a tile the descriptor's strides count, which follow from the encoding, ``#ttg.nvmma_shared``.

A dot whose encoding is transposed is computed as ``D^T = B^T A^T``: here *left* is the operand that the instruction takes from
registers or memory, with its 64 rows, and *right* the one in memory.  Tiles are named by (row, column) of the instruction's
dot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

from tri_backend_nvidia.machine import WgmmaOp, WgmmaShape, WgmmaWaitOp
from tri_backend_nvidia.machine.ops.wgmma import A_REGISTERS, GROUP_WARPS
from tri_backend_nvidia.mma import words
from tri_backend_nvidia.mma.encoding import NvidiaMma
from tri_backend_nvidia.mma.memory import ATOM_ROWS, NvmmaShared
from tri_backend_nvidia.mma.table import PTX_TYPES, accumulator_type
from tri_core.api import Unsupported
from tri_core.ir.dots import Dot
from tri_core.ir.views import cast
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes.origins import is_zero
from tri_gpu_dialect.dialect import WarpGroupDotOp
from tri_gpu_dialect.encodings import DotOperand, decode
from tri_gpu_dialect.layouts import OFFSET, REGISTER, WARP, LinearLayout
from tri_gpu_dialect.lowering import Lowered, Lowering
from tri_gpu_dialect.lowering.indices import apply
from tri_gpu_dialect.lowering.rules.matrix import Fragments
from tri_gpu_dialect.lowering.table import Rule

__all__ = ["RULES", "Descriptor", "dot", "wait"]

#: bits of a descriptor's address; it counts pieces of 16 bytes
_ADDRESS = (1 << 18) - 1
_PIECE_BITS = 4
#: the descriptor's number of a swizzle, in its two highest bits
_SWIZZLE = {128: 1, 64: 2, 32: 3}

Places = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Descriptor:
    """Common fields of a buffer's matrix descriptors: strides in bytes, the swizzle, and the direction of
    rows.
    """

    leading: int
    stride: int
    swizzle: int
    rows_along_k: bool

    @classmethod
    def of(cls, encoding: NvmmaShared, shape: Sequence[int], index: int) -> Descriptor:
        """Of operand ``index`` in a buffer of ``shape``.

        Atoms of 8 rows follow each other (``stride``); where rows run along m or n, ``leading`` leads to the next
        panel.  Rows along k are as long as an instruction's step of k at least: ``leading`` has no meaning.
        """
        width = encoding.swizzling_byte_width
        if not width:
            raise Unsupported(
                f"a matrix instruction's operand in {encoding}",
                remedy="give it a swizzlingByteWidth of 32, 64 or 128",
            )
        inner = 1 - index
        rows_along_k = (0 if encoding.transposed else 1) == inner
        if not rows_along_k and encoding.element_bit_width != 16:
            raise Unsupported(
                f"a matrix instruction's operand {index} in {encoding}: 16-bit elements alone are read across rows",
                remedy="let the rows run along k",
            )
        leading = 0 if rows_along_k else shape[inner] * width
        return cls(leading, ATOM_ROWS * width, width, rows_along_k)

    @property
    def low(self) -> int:
        """The low word, but for the address."""
        return self.leading >> _PIECE_BITS << 16

    @property
    def high(self) -> int:
        """The high word."""
        return self.stride >> _PIECE_BITS | _SWIZZLE[self.swizzle] << 30


@dataclass(frozen=True)
class _Places:
    """Places of a buffer's tiles, by its layout's inverse; elements of ``bytes``."""

    inverse: LinearLayout
    bytes: int

    def offset(self, row: int, column: int) -> int:
        """Offset of the tile at (row, column), in units of 16 bytes."""
        place = self.inverse.apply({"dim0": row, "dim1": column})[OFFSET] * self.bytes
        if place & (1 << _PIECE_BITS) - 1:
            raise Unsupported(f"a tile of a matrix instruction's operand at byte {place} of its buffer")
        return place >> _PIECE_BITS


@dataclass(frozen=True)
class _Memory:
    """An operand in memory; ``low`` is the low word of its first descriptor in this warp group."""

    low: ir.Value
    descriptor: Descriptor
    places: _Places

    @classmethod
    def of(cls, ctx: Lowering, op: ir.Operation, index: int) -> _Memory:
        value = op.operands[index]
        encoding, view = decode(value.type.encoding), ctx.shared_tensor(value)
        if not isinstance(encoding, NvmmaShared) or len(view.layout.out_dims) != 2:
            raise Unsupported(
                f"operand {index} of {op.name} in {value.type}", remedy="use a buffer in #ttg.nvmma_shared"
            )
        descriptor = Descriptor.of(encoding, list(view.layout.out_sizes.values()), index)
        places = _Places(view.layout.pseudo_invert(), encoding.element_bit_width // 8)
        b = ctx.b
        address = b.and_(b.int_cast(b.ptr_to_int(view.base), b.i32), b.int_(_ADDRESS))
        low = b.lshr(address, _PIECE_BITS)
        moved = _group_offsets(ctx, op, index, places)
        if any(moved.columns):
            low = b.add(low, apply(b, moved, {WARP: _uniform_warp(ctx)})[0])
        return cls(b.add(low, b.int_(descriptor.low + places.offset(*view.origin))), descriptor, places)


def _group_offsets(ctx: Lowering, op: ir.Operation, index: int, places: _Places) -> LinearLayout:
    """From a warp to where its group's part of operand ``index`` starts, in pieces of 16 bytes."""
    columns = []
    for bit, (row, column) in enumerate(ctx.layout(op.results[0].type).bases.get(WARP, ())):
        is_inside = 1 << bit < GROUP_WARPS
        columns.append((0 if is_inside else places.offset(*((row, 0) if index == 0 else (0, column))),))
    return LinearLayout.from_bases({WARP: columns}, ["piece"])


_uniform: WeakKeyDictionary[Lowering, dict[ir.Value, ir.Value]] = WeakKeyDictionary()


def _uniform_warp(ctx: Lowering) -> ir.Value:
    """This warp's number, which the assembler knows to be that of the whole warp: right behind ``ctx.warp``."""
    known, warp = _uniform.setdefault(ctx, {}), ctx.warp
    if warp not in known:
        op = warp.owner
        assert not isinstance(op, ir.Block)
        with ir.InsertionPoint.after(op.operation):
            is_known = op.operation.name == "nvm.shuffle"
            zero = ctx.b.run(
                "llvm.mlir.constant", (), [ctx.b.i32], {"value": ir.IntegerAttr.get(ctx.b.i32, 0)}
            )
            known[warp] = warp if is_known else ctx.hw.shuffle_idx(ctx.b, warp, zero[0])
    return known[warp]


# --- the dot ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tiles:
    """The registers of a result, by the tiles of one instruction: the tile's first place, its registers in order."""

    found: dict[tuple[int, int], list[int]]

    @classmethod
    def of(cls, encoding: NvidiaMma, shape: Sequence[int]) -> _Tiles:
        """Of a result of ``shape``; a transposed one's columns are in the instruction's order."""
        layout, n = encoding.in_order.linear_layout(tuple(shape)), encoding.instr_shape[1]
        order = slice(None, None, -1 if encoding.is_transposed else 1)
        images = {layout.unpack_out(image)[order]: i for i, image in enumerate(layout.images(REGISTER))}
        origins = sorted({(row & ~15, column & ~(n - 1)) for row, column in images})
        found = {}
        for row, column in origins:
            places = [(row + i // 2 % 2 * 8, column + i // 4 * 8 + i % 2) for i in range(n // 2)]
            found[row, column] = [images[place] for place in places]
        return cls(found)

    @property
    def order(self) -> list[int]:
        """All registers, tile by tile."""
        return [register for registers in self.found.values() for register in registers]


def _encoding(op: ir.Operation) -> NvidiaMma:
    encoding = decode(op.results[0].type.encoding)
    if not isinstance(encoding, NvidiaMma) or encoding.version_major != 3:
        raise Unsupported(f"{op.name} in {encoding}", remedy="use #ttg.nvidia_mma of version 3")
    return encoding


def dot(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.warp_group_dot``: one machine op; several, waited for one by one, where accumulators must not grow imprecise."""
    encoding = _encoding(op)
    tiles, dot = _Tiles.of(encoding, op.results[0].type.shape), cast(op, WarpGroupDotOp)
    total = [ctx.registers(dot.c)[r] for r in tiles.order]
    use_c = next(iter(dot.more), None)
    add = ctx.b.true() if use_c is None else ctx.scalar(use_c)
    if use_c is not None and is_zero(use_c):
        total = [ctx.b.undef(value.type) for value in total]  # nobody reads them: no moves of zeros
    call = _Call.of(ctx, op, encoding, tiles)
    depth, most = dot.a.type.shape[1], _imprecise(op)
    if most is None or most > depth:
        made = call.run(total, add, 0, depth)
    else:
        made = _in_parts(ctx, call, total, add, depth, most)
    result: list[ir.Value | None] = [None] * len(made)
    for register, value in zip(tiles.order, made, strict=True):
        result[register] = value
    return [[value for value in result if value is not None]]


def _imprecise(op: ir.Operation) -> int | None:
    """Along how much of k dots may be added in the tensor core's short accumulators, to nothing else; None: to any accumulator."""
    if "maxNumImpreciseAcc" not in op.attributes or Dot(op).b.type.element_type.width != 8:
        return None
    is_float = str(op.results[0].type.element_type) == "f32"
    return int(ir.IntegerAttr(op.attributes["maxNumImpreciseAcc"]).value) if is_float else None


def _in_parts(
    ctx: Lowering, call: _Call, total: list[ir.Value], add: ir.Value, depth: int, most: int
) -> list[ir.Value]:
    """Accumulators of parts of k from zero, added to ``total`` in full precision."""
    b, step = ctx.b, max(most // call.shape.k * call.shape.k, call.shape.k)
    zero = b.const(b.f32, 0.0)
    accumulators = [b.select(add, value, zero) for value in total]
    for first in range(0, depth, step):
        undefined = [b.undef(v.type) for v in total]
        part = call.run(undefined, b.const(b.i1, 0), first, min(first + step, depth))
        done = WgmmaWaitOp.build(part, [v.type for v in part], _pendings(ctx, 0))
        accumulators = [b.fadd(s, p) for s, p in zip(accumulators, done, strict=True)]
    return accumulators


@dataclass(frozen=True)
class _Call:
    """A dot made ready: its operands, from which parts along k can be multiplied; ``is_transposed``: A is operand 1."""

    ctx: Lowering
    op: ir.Operation
    shape: WgmmaShape
    tiles: _Tiles
    a: _Memory | Fragments
    b: _Memory
    is_transposed: bool

    @classmethod
    def of(cls, ctx: Lowering, op: ir.Operation, encoding: NvidiaMma, tiles: _Tiles) -> _Call:
        left, right = (1, 0) if encoding.is_transposed else (0, 1)
        a, b = _left(ctx, op, encoding, left), _Memory.of(ctx, op, right)
        kinds = [PTX_TYPES[str(op.operands[i].type.element_type)] for i in (left, right)]
        total = accumulator_type(op.results[0].type.element_type)
        a_rows = not isinstance(a, _Memory) or a.descriptor.rows_along_k
        _, n, k = encoding.instr_shape
        shape = WgmmaShape(n, k, kinds[0], kinds[1], total, a_rows, b.descriptor.rows_along_k)
        return cls(ctx, op, shape, tiles, a, b, encoding.is_transposed)

    def run(self, total: list[ir.Value], add: ir.Value, first: int, end: int) -> list[ir.Value]:
        """Start the dot of columns ``first`` to ``end`` of A, added to ``total`` where ``add``; the accumulators."""
        left, steps = self.left(first, end)
        b, sums = self.ctx.b, words.packed_sums(self.ctx.b, total)
        attributes: dict[str, ir.Attribute] = {
            "shape": ir.StringAttr.get(str(self.shape)),
            "a_high": self.word(self.a.descriptor.high if isinstance(self.a, _Memory) else 0),
            "b_high": self.word(self.b.descriptor.high),
            "steps": ir.DenseI32ArrayAttr.get(steps),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(sums), len(left), 1, 1]),
        }
        made = WgmmaOp.build([*sums, *left, self.b.low, add], [v.type for v in sums], attributes)
        return words.unpacked_sums(b, made, total[0].type)

    def word(self, value: int) -> ir.Attribute:
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)

    def left(self, first: int, end: int) -> tuple[list[ir.Value], list[int]]:
        """The registers or low word of A, and the instructions: tile, offset of A, offset of B."""
        found: list[ir.Value] = [self.a.low] if isinstance(self.a, _Memory) else []
        steps, known = [], dict[tuple[int, int], int]()
        for tile, (row, column) in enumerate(self.tiles.found):
            for k in range(first, end, self.shape.k):
                if isinstance(self.a, _Memory):
                    place = self.a.places.offset(row, k)
                else:
                    if (row, k) not in known:
                        known[row, k] = len(found)
                        found += self.words(row, k)
                    place = known[row, k]
                steps += [tile, place, self.b.places.offset(*self.transposed(k, column))]
        assert isinstance(self.a, _Memory) or len(found) == len(known) * A_REGISTERS
        return found, steps

    def words(self, row: int, k: int) -> list[ir.Value]:
        """The registers of A's fragment at (row, k); f32 as it is: the instruction cuts it off, as it does in memory."""
        assert isinstance(self.a, Fragments)
        b, registers = self.ctx.b, self.a.at(self.transposed(row, k))
        if self.shape.a == "tf32":
            return [b.bitcast(value, b.i32) for value in registers]
        return words.operand(b, self.op, int(self.is_transposed), registers)

    def transposed(self, row: int, column: int) -> tuple[int, int]:
        """Coordinates in the tensor of an operand's (row, column) for the instruction."""
        return (column, row) if self.is_transposed else (row, column)


def _left(ctx: Lowering, op: ir.Operation, encoding: NvidiaMma, index: int) -> _Memory | Fragments:
    """The operand that may come from registers, number ``index``."""
    value = op.operands[index]
    if not isinstance(value.type, ir.RankedTensorType):
        if encoding.is_transposed:
            raise Unsupported(
                f"operand 1 of {op.name} in memory, and a result in {encoding}", remedy="load it"
            )
        return _Memory.of(ctx, op, index)
    operand = decode(value.type.encoding)
    assert isinstance(operand, DotOperand)
    fragment = encoding.fragment(index, operand.k_width)
    in_order = replace(operand, parent=encoding.in_order).linear_layout(tuple(value.type.shape))
    return Fragments(ctx, value, fragment, in_order)


# --- waits ------------------------------------------------------------------------------------------------


def _pendings(ctx: Lowering, count: int) -> dict[str, ir.Attribute]:
    return {"pendings": ir.IntegerAttr.get(ctx.b.i32, count)}


def wait(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.warp_group_dot_wait``: one machine op for all values, in the registers that the dots have them in."""
    given = [words.packed_sums(ctx.b, ctx.registers(value)) for value in op.operands]
    flat = [register for registers in given for register in registers]
    attributes = _pendings(ctx, ir.IntegerAttr(op.attributes["pendings"]).value)
    rest = iter(WgmmaWaitOp.build(flat, [v.type for v in flat], attributes))
    return [
        words.unpacked_sums(ctx.b, [next(rest) for _ in registers], value.type.element_type)
        for registers, value in zip(given, op.operands, strict=True)
    ]


RULES: dict[str, Rule] = {"ttg.warp_group_dot": dot, "ttg.warp_group_dot_wait": wait}
