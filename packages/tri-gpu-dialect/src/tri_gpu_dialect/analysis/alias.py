"""Which buffers of shared memory a memory descriptor may stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tri_core.ir.traits import is_view
from tri_core.ir.views import isa
from tri_core.mlir import ir, scf
from tri_gpu_dialect.dialect import LocalAllocOp, WarpSpecializeOp
from tri_gpu_dialect.dialect.partitions import default_block, partition_blocks
from tri_gpu_dialect.edit import terminator

__all__ = ["Aliases", "aliases"]

Buffers = frozenset[int]

#: types of values that are nobody's memory
_VALUES = (ir.RankedTensorType, ir.IntegerType, ir.FloatType)


@dataclass
class Aliases:
    """``allocations``: the buffers in program order; ``of``: which of them (by index) a value may be."""

    allocations: list[ir.Operation] = field(default_factory=list)
    of: dict[ir.Value, Buffers] = field(default_factory=dict)


def aliases(function: ir.Operation) -> Aliases:
    """Find the allocations of ``function`` and follow them through views, loops and branches."""
    found = Aliases()
    analysis = _Analysis(found)
    for block in function.regions[0].blocks:
        analysis.block(block)
    return found


@dataclass
class _Analysis:
    found: Aliases
    seen: set[ir.Value] = field(default_factory=set)

    def block(self, block: ir.Block) -> None:
        of = self.found.of
        for view in block:
            op = view.operation
            if len(op.regions) and self.control(op):
                continue
            if isa(op, LocalAllocOp):
                self.allocation(op)
            elif is_view(op):
                self.join(op.results, op.operands[:1])
            elif len(op.results) and len(op.operands) and any(v in of for v in op.operands):
                # an op that nobody described: its results may be any of its operands, but for numbers and tensors in registers
                for result in (r for r in op.results if not isinstance(r.type, _VALUES)):
                    for operand in op.operands:
                        self.join([result], [operand])

    def control(self, op: ir.Operation) -> bool:
        """Follow the values of ``op`` into and out of its regions; whether it is known how they go."""
        if isa(op, scf.ForOp):
            body = op.regions[0].blocks[0]
            self.loop(op, list(op.operands)[3:], list(body.arguments)[1:], body)
        elif isa(op, scf.WhileOp):
            self.while_(op)
        elif isa(op, scf.IfOp):
            self.branches(op)
        elif isa(op, WarpSpecializeOp):
            self.partitions(op)
        else:
            return False
        return True

    def allocation(self, op: ir.Operation) -> None:
        result = op.results[0]
        if result not in self.seen:
            self.seen.add(result)
            self.found.of[result] = frozenset({len(self.found.allocations)})
            self.found.allocations.append(op)

    def join(self, values: Sequence[ir.Value], sources: Sequence[ir.Value]) -> bool:
        """Let ``values`` also be what ``sources`` are; whether that is news."""
        changed = False
        for value, source in zip(values, sources, strict=True):
            if (more := self.found.of.get(source)) is not None:
                old = self.found.of.get(value, frozenset())
                if not more <= old:
                    self.found.of[value], changed = old | more, True
        return changed

    def loop(
        self, op: ir.Operation, inits: Sequence[ir.Value], carried: Sequence[ir.Value], body: ir.Block
    ) -> None:
        self.join(carried, inits)
        while True:
            self.block(body)
            if not self.join(carried, terminator(body).operands):
                break
        self.join(op.results, carried)

    def while_(self, op: ir.Operation) -> None:
        before, after = (region.blocks[0] for region in op.regions)
        self.join(list(before.arguments), op.operands)
        while True:
            self.block(before)
            self.join(list(after.arguments), list(terminator(before).operands)[1:])
            self.block(after)
            if not self.join(list(before.arguments), terminator(after).operands):
                break
        self.join(op.results, list(after.arguments))

    def branches(self, op: ir.Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                self.block(block)
                if len(op.results):
                    self.join(op.results, terminator(block).operands)

    def partitions(self, op: ir.Operation) -> None:
        self.block(default_block(op))
        self.join(op.results, terminator(default_block(op)).operands)
        for block in partition_blocks(op):
            self.join(list(block.arguments), op.operands)
            self.block(block)
