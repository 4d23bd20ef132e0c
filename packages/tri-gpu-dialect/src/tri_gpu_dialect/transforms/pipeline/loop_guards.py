"""Loops that may run zero times, inside of a guard: what is after them may then count on an iteration.

Waits for dots belong there: behind a join with the way around the loop an assembler would have to wait everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.ir.regions import If
from tri_core.ir.views import isa
from tri_core.mlir import arith, ir
from tri_gpu_dialect.edit import terminator

__all__ = ["end_of", "guard", "runs", "runs_surely"]


def runs_surely(loop: ir.Operation) -> bool:
    """True if the bounds of ``loop``, a counted loop, are constants that give at least one iteration."""
    values = []
    for value in list(loop.operands)[:2]:
        op = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if op is None or not isa(op, arith.ConstantOp):
            return False
        values.append(ir.IntegerAttr(op.attributes["value"]).value)
    return bool(values[0] < values[1])


def runs(loop: ir.Operation) -> ir.Value:
    """Condition (i1) that ``loop``, a counted loop, has an iteration; computed here."""
    bit, i64 = ir.IntegerType.get_signless(1), ir.IntegerType.get_signless(64)
    less = {"predicate": ir.IntegerAttr.get(i64, 2)}
    return ir.Operation.create(
        "arith.cmpi", results=[bit], operands=list(loop.operands)[:2], attributes=less
    ).results[0]


def guard(loop: ir.Operation, asked: ir.Value | None = None) -> tuple[ir.Operation, Sequence[int]]:
    """A new branch before ``loop`` of whether it runs, and the numbers of those of the loop's results that it gives.

    Its results are used in place of the loop's.  Both ways give what the loop starts with: the first one's terminator is to
    be given better.  ``asked``, if given, is the condition instead.
    """
    inits = list(loop.operands)[3:]
    used = [i for i, r in enumerate(loop.results) if next(iter(r.uses), None) is not None]
    with ir.InsertionPoint(loop), loop.location:
        types = [loop.results[i].type for i in used]
        condition = runs(loop) if asked is None else asked
        made = ir.Operation.create(If.OPERATION_NAME, results=types, operands=[condition], regions=2)
    for region in made.regions:
        with ir.InsertionPoint(region.blocks.append()), loop.location:
            ir.Operation.create("scf.yield", operands=[inits[i] for i in used])
    for i, result in zip(used, made.results, strict=True):
        loop.results[i].replace_all_uses_with(result)
    return made, used


def end_of(guarded: ir.Operation) -> ir.Operation:
    """The terminator of the way on which the loop runs."""
    return terminator(guarded.regions[0].blocks[0])
