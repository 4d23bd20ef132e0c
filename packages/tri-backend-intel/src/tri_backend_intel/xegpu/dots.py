"""Dots: DPAS, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_intel.dialect import Dealt
from tri_backend_intel.lowering.small_floats import SMALL_FLOATS
from tri_backend_intel.xegpu.conversion import Conversion, Known, Operand, Pieces
from tri_backend_intel.xegpu.lane_ops import lanes
from tri_backend_intel.xegpu.layouts import LANES
from tri_backend_intel.xegpu.operands import operand_of
from tri_backend_intel.xegpu.places import numbers
from tri_backend_intel.xegpu.shares import TALL
from tri_core.mlir import ir

__all__ = ["dot"]

Registers = Sequence[ir.Value]


def dot(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """Sums of products; an instruction takes up to 8 rows."""
    a, b = (_Instructions(ctx, operand_of(ctx, op.operands[role], role), role) for role in (0, 1))
    strided = a.operand.strided
    total = ctx.pieces_of(op.operands[2])
    depth = 256 // ctx.element(op.operands[0]).width
    steps = op.operands[0].type.shape[1] // depth
    found = []
    for row, column in total.share.indices():
        whole = total.at((row, column))
        tall = whole.type.shape[0]
        count = min(TALL, tall)
        parts = []
        for first in range(0, tall, TALL):
            line = (row * tall + first) // count
            pairs = [
                pair
                for k in range(steps)
                for pair in zip(a.at((line, k)), b.at((k, column), strided=strided), strict=True)
            ]
            parts.append(_multiplied(ctx, a.kind, ctx.rows(whole, first, count), pairs))
        found.append(ctx.stacked(parts))
    return [Pieces(total.share, tuple(found))]


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
    """What instructions read of an operand: its registers, or those of two instructions, if it is of 8-bit floats."""

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
