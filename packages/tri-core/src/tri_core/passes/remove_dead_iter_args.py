"""Values that loops carry only to compute themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import ClassVar

from tri_core.ir.regions import (
    For,
    deciding_operands,
    ends_region,
    is_control,
    loops_in,
    predecessors,
)
from tri_core.ir.traits import is_pure
from tri_core.ir.walking import walk
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes.base import Pass
from tri_core.pipeline import StageContext

__all__ = ["RemoveDeadIterArgs"]


@dataclass(frozen=True)
class RemoveDeadIterArgs(Pass):
    """A value that a counted loop carries and nobody needs is passed on unchanged; canonicalization then removes it."""

    name: ClassVar[str] = "remove-dead-iter-args"
    former_names: ClassVar[tuple[str, ...]] = ("dead-carried",)

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        loops = loops_in(module.operation)
        if not loops:
            return
        live = _Liveness().run(module)
        for loop in map(For, loops):
            for number, (argument, result) in enumerate(zip(loop.carried, loop.op.results, strict=True)):
                if argument not in live and result not in live:
                    loop.end.operands[number] = argument


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
        """Operands that ``value`` is computed from."""
        forwarded = predecessors(value)
        if forwarded is not None:
            return forwarded
        owner = value.owner
        if isinstance(owner, ir.Block):
            return []
        op = owner.operation
        found = list(op.operands)
        for region in op.regions:
            found += [v for block in region.blocks for v in list(block.operations)[-1].operands]
        return found


def _operations(module: ir.Module) -> Iterator[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op)
        return ir.WalkResult.ADVANCE

    walk(module.operation, visit, ir.WalkOrder.PRE_ORDER)
    return iter(found)


def _needed(op: ir.Operation) -> list[ir.Value]:
    """Operands that are needed whatever becomes of the results."""
    if is_control(op):
        return deciding_operands(op)
    if ends_region(op):
        return []
    if is_pure(op) and not len(op.regions):
        return []
    return list(op.operands)
