"""Place of an access of a descriptor's block: the surface, and coordinates on it."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_intel.xegpu.conversion import Conversion
from tri_backend_intel.xegpu.shares import Share
from tri_core.mlir import ir

__all__ = ["Place", "numbers"]


def numbers(**of: int) -> dict[str, ir.Attribute]:
    """Numbers of a block as attributes."""
    i32 = ir.IntegerType.get_signless(32)
    return {name: ir.IntegerAttr.get(i32, number) for name, number in of.items()}


class Place:
    """The surface of an access, and where its block begins there (row, column; columns as they were moved)."""

    def __init__(self, ctx: Conversion, access: ir.Operation, indices: Sequence[ir.Value]) -> None:
        self.ctx = ctx
        self.surface = ctx.surfaces[access.operands[0]]
        row, column = (ctx.cast(ctx.number_of(v), ctx.index) for v in indices)
        self.start = [row, ctx.one("arith.addi", [column, self.surface.shift], ctx.index)]

    def at(self, share: Share, index: Sequence[int], further: int = 0) -> list[ir.Value]:
        """Coordinates of the piece at ``index``, ``further`` rows down."""
        ctx = self.ctx
        found = []
        for dim, start in enumerate(self.start):
            step = ctx.start(share, dim, index)
            if further and dim == 0:
                step = ctx.one("arith.addi", [step, ctx.number(ctx.index, further)], ctx.index)
            found.append(ctx.one("arith.addi", [start, step], ctx.index))
        return found

    def block(self, x: ir.Value, y: ir.Value, size: int) -> list[ir.Value]:
        """The operands of a block op at (x, y), of a surface whose elements have ``size`` bytes."""
        ctx, surface = self.ctx, self.surface
        base = ctx.one("llvm.inttoptr", [surface.address], ir.Type.parse("!llvm.ptr<1>"))
        bytes_ = ctx.number(ctx.index, size)
        width, pitch = (ctx.one("arith.muli", [n, bytes_], ctx.index) for n in (surface.width, surface.pitch))
        i32 = ir.IntegerType.get_signless(32)
        return [base, *(ctx.cast(v, i32) for v in (width, surface.height, pitch, x, y))]
