"""Branches between blocks turned into structured control flow."""

from __future__ import annotations

from typing import ClassVar

from tri_core.dialects.tt import FuncOp, ReturnOp
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import func, ir, run_passes
from tri_core.passes.base import Pass
from tri_core.pipeline import StageContext

__all__ = ["CfToScf"]


@dataclass(frozen=True)
class CfToScf(Pass):
    """Gives every ``tt.func`` one block: ``cf`` branches become ``if``, ``while`` and ``scf.index_switch``.

    Our frontend makes structured control flow; TTIR of the original has branches where a function returns
    early.  Upstream's ``lift-cf-to-scf`` (Bahmann et al., "Perfect Reconstructability of Control Flow from
    Demand Dependence Graphs", 2015) does the work on a ``func.func`` that holds the blocks meanwhile.
    """

    name: ClassVar[str] = "cf-to-scf"
    required: ClassVar[bool] = True
    former_names: ClassVar[tuple[str, ...]] = ("lift-control-flow",)

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        branching = [op.operation for op in module.body.operations if _branches(op.operation)]
        if not branching:
            return
        # a module of its own: the pass may not see, nor slow down, what needs no lifting
        scratch = ir.Module.create(loc=module.operation.location)
        lent = [_lend(function, scratch) for function in branching]
        run_passes(scratch, "lift-cf-to-scf")
        for function, holder in zip(branching, lent, strict=True):
            _move_blocks(holder, function, func.ReturnOp, "tt.return")


def _branches(op: ir.Operation) -> bool:
    return isa(op, FuncOp) and len(op.regions[0].blocks) > 1


def _lend(function: ir.Operation, scratch: ir.Module) -> ir.Operation:
    """A ``func.func`` in ``scratch`` with the reachable blocks of ``function``."""
    _drop_unreachable(function)
    attributes = {name: function.attributes[name] for name in ("sym_name", "function_type")}
    holder = ir.Operation.create(
        "func.func",
        attributes=attributes,
        regions=1,
        loc=function.location,
        ip=ir.InsertionPoint(scratch.body),
    )
    _move_blocks(function, holder, ReturnOp, "func.return")
    return holder


def _move_blocks(source: ir.Operation, target: ir.Operation, was: type[ir.OpView], becomes: str) -> None:
    """Move all blocks, their ``was`` terminators replaced by ``becomes``."""
    for block in list(source.regions[0].blocks):
        end = [*block.operations][-1].operation
        if isa(end, was):
            operands, location = list(end.operands), end.location
            end.erase()
            ir.Operation.create(becomes, operands=operands, loc=location, ip=ir.InsertionPoint(block))
        block.append_to(target.regions[0])


def _drop_unreachable(function: ir.Operation) -> None:
    """Take away the blocks that no branch leads to: frontends leave some behind a ``return``."""
    blocks = list(function.regions[0].blocks)
    reached, pending = [blocks[0]], [blocks[0]]
    while pending:
        for following in [*pending.pop().operations][-1].operation.successors:
            if following not in reached:
                reached.append(following)
                pending.append(following)
    gone = ir.Operation.create("builtin.module", regions=1, loc=function.location, ip=False)
    for block in blocks:
        if block not in reached:
            block.append_to(gone.regions[0])
