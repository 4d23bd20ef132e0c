"""A walk along the ways that control takes through a function, with what is pending at each place.

What is pending is a value of which ``|`` gives what either may be.  Where a block begins it is what may be at any edge that leads there;
loops are gone through until nothing new is carried.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Protocol, Self, TypeVar

from tri_core.ir.regions import ConcurrentRegions, Edge, edges_of, is_control, region_blocks
from tri_core.mlir import ir
from tri_gpu_dialect.edit import block_ops

__all__ = ["Joined", "PathWalk"]


class Joined(Protocol):
    """Pending state at a program point."""

    def __or__(self, other: Self, /) -> Self: ...


S = TypeVar("S", bound=Joined)


class PathWalk(ABC, Generic[S]):
    """Subclasses say what is pending after an op (:meth:`op`), and behind one whose regions run at the same time (:meth:`concurrent`)."""

    @abstractmethod
    def nothing(self) -> S:
        """State in which nothing is pending."""

    @abstractmethod
    def op(self, op: ir.Operation, pending: S) -> S:
        """Pending state after ``op``; inserts the barrier that it needs before it."""

    @abstractmethod
    def concurrent(self, op: ir.Operation, pending: S) -> S:
        """Pending state after ``op``, whose regions run concurrently."""

    def along(self, edge: Edge, pending: S) -> S:
        """Pending state along ``edge``, given ``pending`` at the end of the block it leaves."""
        return pending

    def block(self, block: ir.Block, pending: S) -> S:
        """Go through ``block``; gives what is pending at its end."""
        for op in block_ops(block):
            pending = self.visit(op, pending)
        return pending

    def visit(self, op: ir.Operation, pending: S) -> S:
        """As :meth:`op`, of any op."""
        if is_control(op):
            return self.control(op, pending)
        if ConcurrentRegions.declared_by(op.name):
            return self.concurrent(op, pending)
        return self.op(op, pending)

    def control(self, op: ir.Operation, pending: S) -> S:
        """Pending state after ``op``: at each block entry and behind ``op``, the join over its incoming
        edges.
        """
        blocks, edges = region_blocks(op), edges_of(op)
        ends: list[S | None] = [None] * len(blocks)
        nothing = self.nothing()

        def before(block: ir.Block | None) -> S:
            found = nothing
            for edge in edges:
                if edge.leads_to(block):
                    left = pending if edge.enters else ends[blocks.index(edge.source.block)]
                    if left is not None:
                        found = found | (left if edge.enters else self.along(edge, left))
            return found

        begun = [nothing] * len(blocks)
        while True:
            news = False
            for number, block in enumerate(blocks):
                # what was pending once stays so: barriers that come in would make it less, and there might be no fixpoint
                at = before(block) | begun[number]
                if at != begun[number] or ends[number] is None:
                    begun[number], news = at, True
                    ends[number] = self.block(block, at)
            if not news:
                return before(None)
