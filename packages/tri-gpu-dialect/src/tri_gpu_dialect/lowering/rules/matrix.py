"""``tt.dot`` on matrix instructions: registers are grouped into the fragments of each instruction.

Which registers those are follows from the layouts of the tensors and of one instruction's fragments; the
instruction itself is the vendor's: ``Primitives.matrix_multiply``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from tri_core.errors import Unsupported
from tri_core.ir.dots import Dot
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import DotOperand, decode
from tri_gpu_dialect.encodings.matrix import ACCUMULATOR, MatrixEncoding
from tri_gpu_dialect.layouts import REGISTER, LinearLayout
from tri_gpu_dialect.lowering.context import Lowered, Lowering

__all__ = ["Fragments", "by_tiles", "is_matrix_dot", "matrix_dot"]

Place = tuple[int, ...]
Registers = Sequence[ir.Value]
#: place of a tile, fragments of A, B and the accumulator so far -> the accumulator
Multiply = Callable[[Place, Registers, Registers, Registers], Registers]


def is_matrix_dot(ctx: Lowering, op: ir.Operation) -> bool:
    """True if the result of a dot has the encoding of a matrix instruction."""
    type_ = op.results[0].type
    return isinstance(type_, ir.RankedTensorType) and isinstance(decode(type_.encoding), MatrixEncoding)


class Fragments:
    """The registers of a tensor, by the place of an instruction's tile.

    ``layout``: of the tensor, but with rows and columns in the order in which instructions have them; None: it has.
    """

    def __init__(
        self, ctx: Lowering, value: ir.Value, fragment: LinearLayout, layout: LinearLayout | None = None
    ) -> None:
        layout = ctx.layout(value.type) if layout is None else layout
        self.value = value
        self.found: dict[Place, Sequence[ir.Value]] = {}
        self.shape = tuple(value.type.shape)
        images = [layout.unpack_out(image) for image in layout.images(REGISTER)]
        self.registers: dict[Place, ir.Value] = {}
        for place, register in zip(images, ctx.registers(value), strict=True):
            self.registers.setdefault(place, register)
        self.images = images
        self.offsets = [fragment.unpack_out(image) for image in fragment.images(REGISTER)]

    def places(self, origin: Place) -> list[Place]:
        """Places of the registers of the tile at ``origin``; a tensor smaller than the tile repeats in it."""
        *batch, row, column = origin
        rows, columns = self.shape[-2:]
        return [(*batch, (row + r) % rows, (column + c) % columns) for r, c in self.offsets]

    def at(self, origin: Place) -> list[ir.Value]:
        """The registers of the tile at ``origin``."""
        try:
            return [self.registers[place] for place in self.places(origin)]
        except KeyError:
            raise Unsupported(
                f"a matrix instruction's operand of type {self.value.type}",
                remedy="give it the dot_op encoding of the result, with the instruction's kWidth",
            ) from None


def _operand(
    ctx: Lowering, op: ir.Operation, index: int, fragments: Fragments, origin: Place
) -> Sequence[ir.Value]:
    """The tile at ``origin`` of operand ``index``, as the instruction takes it."""
    found = fragments.found.get(origin)
    if found is None:
        found = fragments.found[origin] = ctx.hw.matrix_operand(ctx.b, op, index, fragments.at(origin))
    return found


def _k_width(value: ir.Value) -> int:
    encoding = decode(value.type.encoding)
    return encoding.k_width if isinstance(encoding, DotOperand) else 0


def matrix_dot(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.dot``."""

    def multiply(_: Place, left: Registers, right: Registers, total: Registers) -> Registers:
        return ctx.hw.matrix_multiply(ctx.b, op, left, right, total)

    return by_tiles(ctx, op, multiply)


def by_tiles(
    ctx: Lowering, op: ir.Operation, multiply: Multiply, pieces: Sequence[LinearLayout] | None = None
) -> Sequence[Lowered]:
    """A dot of registers: along k from 0 upwards, every tile of the result once per step.

    ``multiply`` is given the tile's place (..., m, n, k of A), and the fragments of A, B and the accumulator so far.
    ``pieces``: one instruction's fragments of A and B, where the encoding does not have them: elements that hold several numbers.
    """
    dot = Dot(op)
    a, b, c = dot.a, dot.b, dot.c
    encoding = decode(op.results[0].type.encoding)
    assert isinstance(encoding, MatrixEncoding)
    if pieces is None:
        pieces = [encoding.fragment(i, _k_width(v)) for i, v in ((0, a), (1, b))]
    left, right = Fragments(ctx, a, pieces[0]), Fragments(ctx, b, pieces[1])
    total = Fragments(ctx, c, encoding.fragment(ACCUMULATOR, 0))
    cells = dict(total.registers)
    origins = _origins(total)
    deep, high = pieces[0].out_size("dim1"), pieces[1].out_size("dim0")
    for step, k in enumerate(range(0, a.type.shape[-1], deep)):
        for *batch, m, n in origins:
            places = total.places((*batch, m, n))
            made = multiply(
                (*batch, m, n, k),
                _operand(ctx, op, 0, left, (*batch, m, k)),
                _operand(ctx, op, 1, right, (*batch, step * high, n)),
                [cells[place] for place in places],
            )
            cells.update(zip(places, made, strict=True))
    return [[cells[place] for place in total.images]]


def _origins(total: Fragments) -> list[Place]:
    """The first places of the tiles that this thread's registers belong to, row by row."""
    reach = [0, 0]
    for offset in total.offsets:
        reach = [a | b for a, b in zip(reach, offset, strict=True)]
    found = {(*p[:-2], p[-2] & ~reach[0], p[-1] & ~reach[1]) for p in total.registers}
    axes = [sorted(set(axis)) for axis in zip(*found, strict=True)]
    return [place for place in itertools.product(*axes) if place in found]
