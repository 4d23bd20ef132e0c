"""Values that loops carry only to compute themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from tri_core.ir.traits import is_pure
from tri_core.ir.views import isa
from tri_core.ir.walking import walk
from tri_core.mlir import ir, scf
from tri_core.passes.base import Pass
from tri_core.passes.loops import body, for_loops, yielded
from tri_core.pipeline import StageContext

__all__ = ["RemoveDeadIterArgs"]


@dataclass(frozen=True)
class RemoveDeadIterArgs(Pass):
    """A value that an ``scf.for`` carries and nobody needs is passed on unchanged; canonicalization then removes it."""

    name: ClassVar[str] = "remove-dead-iter-args"
    former_names: ClassVar[tuple[str, ...]] = ("dead-carried",)

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        loops = for_loops(module)
        if not loops:
            return
        live = _Liveness().run(module)
        for loop in loops:
            end = yielded(loop)
            for number, argument in enumerate(list(body(loop).arguments)[1:]):
                if argument not in live and loop.results[number] not in live:
                    end.operands[number] = argument


@dataclass
class _Liveness:
    """Values that something with an effect depends on."""

    live: set[ir.Value] = field(default_factory=set)

    def run(self, module: ir.Module) -> set[ir.Value]:
        """From all effects backwards."""
        ahead = [v for op in _operations(module) for v in _needed(op)]
        while ahead:
            value = ahead.pop()
            if value not in self.live:
                self.live.add(value)
                ahead += self.sources(value)
        return self.live

    def sources(self, value: ir.Value) -> list[ir.Value]:
        """What ``value`` is computed from."""
        owner = value.owner
        if isinstance(owner, ir.Block):
            return self.carried(owner, value)
        op = owner.operation
        if isa(op, scf.ForOp):
            number = ir.OpResult(value).result_number
            return [op.operands[3 + number], yielded(op).operands[number]]
        found = list(op.operands)
        for region in op.regions:
            found += [v for block in region.blocks for v in list(block.operations)[-1].operands]
        return found

    def carried(self, block: ir.Block, value: ir.Value) -> list[ir.Value]:
        """The first and the next value of a loop's argument."""
        loop, number = block.owner.operation, ir.BlockArgument(value).arg_number
        if not isa(loop, scf.ForOp) or number == 0:
            return []
        return [loop.operands[2 + number], yielded(loop).operands[number - 1]]


def _operations(module: ir.Module) -> Iterator[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op)
        return ir.WalkResult.ADVANCE

    walk(module.operation, visit, ir.WalkOrder.PRE_ORDER)
    return iter(found)


def _needed(op: ir.Operation) -> list[ir.Value]:
    """Operands that are needed whatever becomes of the results."""
    if isa(op, scf.ForOp):
        return list(op.operands)[:3]
    if isa(op, scf.IfOp):
        return list(op.operands)
    if isa(op, scf.YieldOp) and isa(op.parent.operation, scf.ForOp, scf.IfOp):
        return []
    if is_pure(op) and not len(op.regions):
        return []
    return list(op.operands)
