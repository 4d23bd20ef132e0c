"""Dots: DPAS, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from tri_backend_intel.dialect import Dealt
from tri_backend_intel.lowering.small_floats import SMALL_FLOATS
from tri_backend_intel.transforms.slice_dots import MOST_REGISTERS
from tri_backend_intel.xegpu.conversion import Awaited, Conversion, Known, Operand, Pieces
from tri_backend_intel.xegpu.lane_ops import lanes
from tri_backend_intel.xegpu.layouts import LANES
from tri_backend_intel.xegpu.operands import load_operand, operand_of
from tri_backend_intel.xegpu.places import numbers
from tri_backend_intel.xegpu.shares import TALL
from tri_core.mlir import ir

__all__ = ["dot"]

Registers = Sequence[ir.Value]


def dot(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """Sums of products, a slice of k after the other; an instruction takes up to 8 rows."""
    total = ctx.pieces_of(op.operands[2])
    sums, height = _lines(ctx, total)
    fixed = {
        role: operand_of(ctx, op.operands[role], role)
        for role in (0, 1)
        if not isinstance(ctx.known[op.operands[role]], Awaited)
    }
    for along in _slices(ctx, op):
        a, b = (
            _Instructions(ctx, fixed.get(role) or _slice(ctx, op.operands[role], role, along), role)
            for role in (0, 1)
        )
        for k, (line, column) in product(along, sums):
            pairs = zip(a.at((line, k)), b.at((k, column), strided=a.operand.strided), strict=True)
            sums[line, column] = _multiplied(ctx, a.kind, sums[line, column], list(pairs))
    found = []
    for row, column in total.share.indices():
        own = [sums[line, column] for line in range(row * height, (row + 1) * height)]
        found.append(ctx.stacked(own))
    return [Pieces(total.share, tuple(found))]


def _lines(ctx: Conversion, total: Pieces) -> tuple[dict[tuple[int, int], ir.Value], int]:
    """The sums of each instruction by line and column, a column after the other, and how many lines a piece has."""
    count = min(TALL, total.share.piece[0])
    height = total.share.piece[0] // count
    found = {}
    for column, row, line in product(*map(range, (*total.share.counts[::-1], height))):
        found[row * height + line, column] = ctx.rows(total.at((row, column)), line * count, count)
    return found, height


def _slice(ctx: Conversion, value: ir.Value, role: int, along: range) -> Operand:
    known = ctx.known[value]
    assert isinstance(known, Awaited)
    return load_operand(ctx, known.load, role, transposed=known.transposed, along=along)


def _slices(ctx: Conversion, op: ir.Operation) -> list[range]:
    """Numbers of instructions along k, so that operands that are loaded for dots of the block share what its sum leaves of registers."""
    depth = 256 // ctx.element(op.operands[0]).width
    steps = op.operands[0].type.shape[1] // depth
    loaded = [v for v in list(op.operands)[:2] if isinstance(ctx.known[v], Awaited)]
    sharing = sum(other.operation.name == op.name for other in op.block.operations)
    most = (MOST_REGISTERS - _registers(ctx, op.results[0])) // sharing
    taken, size = sum(_registers(ctx, v) for v in loaded), steps
    while size > 1 and taken > most:
        taken, size = taken // 2, size // 2
    return [range(first, first + size) for first in range(0, steps, size)]


def _registers(ctx: Conversion, value: ir.Value) -> int:
    """Of 16 lanes with 32 bits each."""
    return prod(dim.share for dim in ctx.share(value).dims) * ctx.element(value).width // (32 * LANES)


def _multiplied(
    ctx: Conversion, kind: str, total: ir.Value, pairs: Sequence[tuple[Registers, Registers]]
) -> ir.Value:
    own = [(v, Dealt.OWN) for left, right in pairs for v in (*left, *right)]
    attributes = numbers(steps=len(pairs), left_count=len(pairs[0][0]))
    made = lanes(
        ctx, "dpas", [(total, Dealt.PIECE), *own], [(total.type, Dealt.PIECE)],
        kind=ir.StringAttr.get(kind), **attributes,
    )  # fmt: skip
    return made[0]


class _Instructions:
    """Operand registers as instructions read them: one instruction's, or two's, if it is of 8-bit floats."""

    def __init__(self, ctx: Conversion, operand: Operand, role: int) -> None:
        self.ctx, self.operand, self.role = ctx, operand, role
        self.wide: dict[tuple[int, int], list[Registers]] = {}

    @property
    def kind(self) -> str:
        """The element type of the instruction."""
        return "f16" if self.operand.element in SMALL_FLOATS else self.operand.element

    def at(self, index: tuple[int, int], *, strided: bool = False) -> list[Registers]:
        """For each instruction; ``strided``: as the other operand has every 16th k."""
        own = self.operand.parts[index]
        if strided:
            own = tuple(own[k // 2 + k % 2 * LANES] for k in range(len(own)))
        if self.operand.element not in SMALL_FLOATS:
            return [own]
        if index not in self.wide:
            self.wide[index] = self._widened(own)
        return self.wide[index]

    def _widened(self, own: Registers) -> list[Registers]:
        word = 32 if self.role else 16
        made = lanes(
            self.ctx, "widen", [(v, Dealt.OWN) for v in own], [(ir.F16Type.get(), Dealt.OWN)] * len(own),
            kind=ir.StringAttr.get(self.operand.element), **numbers(word=word),
        )  # fmt: skip
        half = len(made) // 2
        return [made[:half], made[half:]]
