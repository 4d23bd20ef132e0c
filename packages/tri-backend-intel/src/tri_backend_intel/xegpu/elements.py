"""2D blocks element by element, for surfaces that the hardware does not take: each lane's share as an instruction gives it.

All addresses are made of one, which moves with the loop, and a number that is the same for all lanes: what a loop does not
change would live through it, each in registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_intel.dialect import BlockLoadOp, BlockStoreOp, SubGroupLaneOp
from tri_backend_intel.dialect.blocks import AT_FIRST_USE, Form
from tri_backend_intel.xegpu.layouts import LANES
from tri_core.ir.views import cast
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder
from tri_gpu_dialect.lowering.words import from_words

__all__ = ["load_elements", "store_elements"]

_WORD = 32
#: where an element is: across and down, from where the lane begins
Place = tuple[int, int]


@dataclass(frozen=True)
class _Elements:
    """A block at (x, y) of a surface, for one lane, which begins at ``column`` and ``row`` of it."""

    b: Builder
    size: int
    column: ir.Value
    row: ir.Value
    address: ir.Value
    surface: Sequence[ir.Value]

    @classmethod
    def of(
        cls, b: Builder, op: ir.Operation, bits: int, across: int, *, turned: bool, per: int = 1
    ) -> _Elements:
        """``across`` lanes lie in a row, the others below; ``turned``: in a column, the others beside.

        An element of the block is ``per`` of the tensor, of ``bits``: a row of the surface may end between them.
        """
        base, _, _, pitch, x, y = surface = list(op.operands)[:6]
        lane = SubGroupLaneOp.build([], [b.i32])[0]
        inner, outer = lane, b.int_(0)
        if across < LANES:
            inner = b.and_(lane, b.int_(across - 1))
            outer = b.lshr(lane, across.bit_length() - 1)
        right, below = (outer, inner) if turned else (inner, outer)
        column, row, size = b.add(x, right), b.add(y, below), bits // 8
        if per > 1:
            column = b.mul(column, b.int_(per))
        start = b.add(
            b.mul(b.int_cast(row, b.i64, signed=True), b.int_cast(pitch, b.i64, signed=True)),
            b.mul(b.int_cast(column, b.i64, signed=True), b.int_(size, 64)),
        )
        return cls(b, size, column, row, b.gep(base, start, b.i8), surface)

    def at(self, place: Place) -> tuple[ir.Value, ir.Value]:
        """The address of an element, and whether it is inside of the surface: before its start is far beyond its end."""
        b, (across, down) = self.b, place
        _, width, height, pitch, _, _ = self.surface
        columns = b.lshr(width, self.size.bit_length() - 1)
        inside = b.and_(
            b.cmp("ult", b.add(self.column, b.int_(across)), columns),
            b.cmp("ult", b.add(self.row, b.int_(down)), height),
        )
        further = b.mul(b.int_cast(pitch, b.i64, signed=True), b.int_(down, 64))
        address = b.gep(self.address, further, b.i8)
        return b.gep(address, b.int_(across * self.size, 64), b.i8), inside


def load_elements(b: Builder, op: ir.Operation) -> list[ir.Value]:
    """The results of ``op``, a :class:`BlockLoadOp`: a branch for each element, those of a word of 32 bits into it at once."""
    load = cast(op, BlockLoadOp)
    bits, turned = load.bits.value, Form(load.form.value) is Form.TRANSPOSED
    width, rows = load.width.value, load.rows.value
    line, element = rows if turned else width, op.results[0].type
    inner_count = max(bits // element.width, 1)
    bits = min(bits, element.width)
    elements = _Elements.of(b, op, bits, min(line, LANES), turned=turned, per=inner_count)
    starts = [
        (block * width + outer, inner) if turned else (block * width + inner, outer)
        for block in range(load.count.value)
        for outer, inner in (divmod(i * LANES, line) for i in range(rows * width // LANES))
    ]
    places = [(across * inner_count + i, down) for across, down in starts for i in range(inner_count)]
    per = max(_WORD // bits, 1)
    found: list[ir.Value] = []
    for first in range(0, len(places), per):
        part = places[first : first + per]
        count = len(part) * bits // element.width
        with ir.InsertionPoint(_before(op, list(op.results)[len(found) : len(found) + count])):
            found += from_words(b, [_load_word(elements, part, bits)], element, count)
    return found


def _before(load: ir.Operation, results: Sequence[ir.Value]) -> ir.Operation:
    """Op at which ``results`` of ``load`` are loaded: the first user, so that no register holds them before,
    or ``load``.
    """
    users = [use.owner.operation for result in results for use in result.uses]
    if AT_FIRST_USE not in load.attributes or not users or any(user.block != load.block for user in users):
        return load
    first = users[0]
    for user in users[1:]:
        if user.is_before_in_block(first):
            first = user
    return first


def _load_word(elements: _Elements, places: Sequence[Place], bits: int) -> ir.Value:
    """The elements at ``places`` in 32 bits, the first one lowest."""
    b = elements.b
    word = b.int_(0)
    for i, place in enumerate(places):
        address, inside = elements.at(place)

        def put(address: ir.Value = address, word: ir.Value = word, shift: int = i * bits) -> list[ir.Value]:
            got = b.int_cast(b.load(address, b.int_type(bits), bits // 8), b.i32)
            return [b.or_(word, b.shl(got, shift)) if shift else got]

        def keep(word: ir.Value = word) -> list[ir.Value]:
            return [word]

        word = b.if_(inside, put, keep, [b.i32])[0]
    return word


def store_elements(b: Builder, op: ir.Operation) -> None:
    """Store the elements of ``op``, a :class:`BlockStoreOp`: a lane has a column."""
    bits = cast(op, BlockStoreOp).bits.value
    elements = _Elements.of(b, op, bits, LANES, turned=False)
    for row, value in enumerate(list(op.operands)[6:]):
        address, inside = elements.at((0, row))

        def put(address: ir.Value = address, value: ir.Value = value) -> None:
            b.store(value, address, bits // 8)

        b.if_(inside, put)
