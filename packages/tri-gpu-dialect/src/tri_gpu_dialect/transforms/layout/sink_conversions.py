"""Layout conversions go where they are needed: into the branch that alone uses them.

    y = convert_layout x                     if c:
    if c:                                        copy x to memory
        copy x to memory           becomes   else:
    else:                                        y = convert_layout x
        store y                                  store y

A conversion through shared memory costs as much as the store that it is for.  Where a tile is stored in one way or in another,
as its place asks for, only one of these needs it.

A conversion of what is loaded waits for it, and no load or copy moves over its barrier: it goes behind loops to what first uses it, where its result
takes no fewer registers of a thread than what is loaded:

    x = load p; y = convert_layout x              x = load p
    for ...: copy q to memory        becomes      for ...: copy q to memory
    use y                                         y = convert_layout x; use y
"""

from __future__ import annotations

import itertools
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.ir.access import global_load
from tri_core.ir.regions import If, is_loop
from tri_core.ir.traits import source_of
from tri_core.ir.views import defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.pressure import registers_of
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.edit import all_ops, ancestor_in, block_ops, functions

__all__ = ["SinkConversions"]


@dataclass(frozen=True)
class SinkConversions(Pass):
    """See the module; conversions into conversions follow each other."""

    name: ClassVar[str] = "sink-conversions"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Move conversions of every function of ``module``."""
        for function in functions(module):
            found = [op for op in all_ops(function) if isa(op, ConvertLayoutOp)]
            # users first: what only they need may follow
            for op in reversed(found):
                _sink(op)
                if _waits_for_load(op):
                    _go_to_first_user(op)


def _sink(op: ir.Operation) -> None:
    """Move ``op`` into the one branch that its users are in, and into branches there."""
    while (block := _branch(op)) is not None:
        op.move_before(block.operations[0].operation)


def _waits_for_load(op: ir.Operation) -> bool:
    """True if ``op`` converts what its own block loads, to as many registers or more."""
    source = source_of(op)
    load = defining_op(source)
    if load is None or global_load(load) is None or load.block != op.block:
        return False
    return registers_of(source) <= registers_of(op.results[0])


def _go_to_first_user(op: ir.Operation) -> None:
    """Move ``op`` down to what first uses its result, itself or inside of it, if a loop is on the way."""
    following = iter(block_ops(op.block))
    next(each for each in following if each == op)
    users = {ancestor_in(use.owner.operation, op.block) for use in op.results[0].uses}
    between = list(itertools.takewhile(lambda each: each not in users, following))
    if any(map(is_loop, between)):
        op.move_after(between[-1])


def _branch(op: ir.Operation) -> ir.Block | None:
    """The block of a branch next to ``op`` that all users of ``op`` are in; None where there is none."""
    found: ir.Block | None = None
    for use in op.results[0].uses:
        block = _inner(use.owner.operation, op.block)
        if block is None or (found is not None and block != found):
            return None
        found = block
    return found


def _inner(user: ir.Operation, block: ir.Block) -> ir.Block | None:
    """The block next inside of ``block`` that ``user`` is in, if it is a branch's."""
    inside = None
    while user.block != block:
        inside, user = user.block, user.parent.operation
    return inside if isa(user, If) else None
