"""Ops of dialects that nothing in tri knows of."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

from tri_core.ir.access import MemoryAccess
from tri_core.ir.effects import READ_GLOBAL, Effects
from tri_core.ir.regions import Edge, LoopLike, RegionBranch, RegionBranchTerminator
from tri_core.ir.rewriting import terminator
from tri_core.mlir import ext, ir

__all__ = ["BLOCK", "FLOW", "BlockLoadOp", "ChooseOp", "NextOp", "RepeatOp", "SilentOp"]


class BLOCK(ext.Dialect, name="blocks"):  # type: ignore[call-arg]  # the bindings read it
    """A matrix unit of 16 lanes that takes operands as blocks of memory lie in registers."""


class BlockLoadOp(
    BLOCK.Operation,
    name="load",
    traits=[Effects(READ_GLOBAL.on("base")), MemoryAccess("base", offsets=("row", "column", "stride"))],
):
    """A block of the matrix at ``base`` whose rows are ``stride`` elements apart, from ``row`` and ``column`` on; it has no mask."""

    result: ext.Result[Any]
    base: ext.Operand[Any]
    row: ext.Operand[Any]
    column: ext.Operand[Any]
    stride: ext.Operand[Any]


class FLOW(ext.Dialect, name="their_flow"):  # type: ignore[call-arg]  # the bindings read it
    """Control flow as somebody else may have it."""


class RepeatOp(FLOW.Operation, name="repeat", traits=[LoopLike]):
    """Runs its region ``times`` times, and at least once: the results come from its terminator alone."""

    outs: Sequence[ext.Result[Any]]
    times: ext.Operand[Any]
    inits: Sequence[ext.Operand[Any]]
    body: ext.Region

    def region_edges(self) -> list[Edge]:
        """Into the body, back, and on behind it."""
        op, count = self.operation, len(self.operation.results)
        block = op.regions[0].blocks[0]
        end = terminator(block)
        return [Edge(op, op, 1, count, block), Edge(op, end, 0, count, block), Edge(op, end, 0, count, None)]


class ChooseOp(FLOW.Operation, name="choose", traits=[RegionBranch]):
    """Runs the first region where ``which`` is true, else the second."""

    outs: Sequence[ext.Result[Any]]
    which: ext.Operand[Any]
    first: ext.Region
    second: ext.Region

    def region_edges(self) -> list[Edge]:
        """Into either, and on behind it."""
        op, count = self.operation, len(self.operation.results)
        blocks = [region.blocks[0] for region in op.regions]
        return [
            *(Edge(op, op, 1, 0, block) for block in blocks),
            *(Edge(op, terminator(block), 0, count, None) for block in blocks),
        ]


class NextOp(FLOW.Operation, name="next", traits=[ir.IsTerminatorTrait, RegionBranchTerminator]):
    """Ends a region with what it gives."""

    values: Sequence[ext.Operand[Any]]


class SilentOp(FLOW.Operation, name="silent"):
    """Says nothing of its region."""

    outs: Sequence[ext.Result[Any]]
    body: ext.Region
