"""Dots that start their accumulator anew do so by their predicate, not by zeros that are written into the accumulator.

    for: s = select(new, zeros, t); t = dot(a, b, s)      ->     for: t = dot(a, b, t, use_c = !new)
    for t: t = dot(a, b, t); t = select(new, zeros, t)    ->     for t, old: t = dot(a, b, t, use_c = old); old = !new
    for t = zeros: t = dot(a, b, t)                       ->     for i, t = zeros: t = dot(a, b, t, use_c = i != lower)

The third is the epilogue of a tile in a loop over the steps of several: ``if last: store(t); t = zeros``.  What is zeros on one way
through a branch, and on the other comes from before it, is such a select too.  Behind the loop, zeros are selected where they are used.

The select is a move for each register of the accumulator in each iteration, and has the dot before it waited for first: a dot
that is still under way may be the accumulator of the next one, but nothing else may read it.  A condition is a scalar, or a
splat of one; a select whose result something else uses too is left alone.
"""

from __future__ import annotations

from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.ir.dots import Dot
from tri_core.ir.regions import For, If
from tri_core.ir.rewriting import attributes_of
from tri_core.ir.traits import moves_data, source_of
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_core.passes.origins import is_zero
from tri_core.remarks import declined
from tri_gpu_dialect.dialect import WarpGroupDotOp
from tri_gpu_dialect.edit import all_ops, block_of, block_ops, functions, terminator
from tri_gpu_dialect.transforms.pipeline.building import zeros

__all__ = ["AccumulatorInit"]

_DOT = "ttg.warp_group_dot"


@dataclass(frozen=True)
class AccumulatorInit(Pass):
    """See the module; ``first`` has accumulators that are zero before a loop started by the predicate, too.

    Runs before ``sink-dot-waits``, which then leaves such dots under way.  ``first`` is off in the stage: the zeros are
    still what a loop that does not run gives, so that it saves nothing and costs a comparison per iteration.
    """

    name: ClassVar[str] = "accumulator-init"
    first: bool = False

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Give the dots of every function of ``module`` their predicates."""
        for function in functions(module):
            for dot in [op for op in all_ops(function) if isa(op, WarpGroupDotOp) and len(op.operands) == 3]:
                if not _by_select(dot) and not _by_flag(dot) and self.first:
                    _by_iteration(dot)


def _by_select(dot: ir.Operation) -> bool:
    """Take a select between zeros and an accumulator out of the accumulator of ``dot``; whether there was one."""
    select = _made_by(Dot(dot).c)
    if select is None or not isa(select, arith.SelectOp):
        return False
    condition, if_true, if_false = select.operands
    if is_zero(if_true) == is_zero(if_false):
        return False
    if len(list(select.results[0].uses)) > 1:
        declined(
            AccumulatorInit.name, dot, "zeros are moved to the accumulator: something else reads it, too"
        )
        return False
    scalar = _scalar(condition)
    if scalar is None:
        declined(
            AccumulatorInit.name, dot, "zeros are moved to the accumulator: some elements of it may be kept"
        )
        return False
    with ir.InsertionPoint(dot), dot.location:
        use_c = _not(scalar) if is_zero(if_true) else scalar
        _replace(dot, if_false if is_zero(if_true) else if_true, use_c)
    select.erase()
    return True


@dataclass(frozen=True)
class _Reset:
    """A carried value that ``op`` makes ``total`` where ``keep`` is set (unset, if ``negated``), and zeros elsewhere."""

    op: ir.Operation
    keep: ir.Value
    negated: bool
    total: ir.Value

    @classmethod
    def of(cls, value: ir.Value) -> _Reset | None:
        """Reset of ``value``; None if it is not reset, or has other uses."""
        op = _made_by(value)
        if op is None or len(list(value.uses)) > 1:
            return None
        if isa(op, arith.SelectOp):
            condition, *ways = op.operands
        elif isa(op, If):
            condition = If(op).condition
            number = ir.OpResult(value).result_number
            ways = [terminator(region.blocks[0]).operands[number] for region in op.regions]
        else:
            return None
        scalar = _scalar(condition)
        new, old = is_zero(ways[0]), is_zero(ways[1])
        total = ways[1] if new else ways[0]
        if scalar is None or new == old or (isa(op, If) and _is_inside(total, op)):
            return None
        return cls(op, scalar, new, total)


def _by_flag(dot: ir.Operation) -> bool:
    """Replace a reset of the accumulator of ``dot`` to zeros in the previous iteration by the dot's flag;
    True if done.
    """
    total = Dot(dot).c
    if not isinstance(total.owner, ir.Block) or total.owner != dot.block or len(list(total.uses)) > 1:
        return False
    loop, number = dot.block.owner.operation, ir.BlockArgument(total).arg_number
    if not isa(loop, For):
        return False
    reset = _Reset.of(terminator(dot.block).operands[number - 1])
    if reset is None or reset.op.block != dot.block:
        return False
    loop = _with_flag(loop, number, reset)
    body = loop.regions[0].blocks[0]
    with ir.InsertionPoint(dot), dot.location:
        _replace(dot, body.arguments[number], list(body.arguments)[-1])
    with ir.InsertionPoint.after(loop), loop.location:
        _select_behind(loop, number - 1)
    return True


def _with_flag(loop: ir.Operation, number: int, reset: _Reset) -> ir.Operation:
    """``loop`` with one more carried value: whether carried value ``number`` counts, which is no longer reset."""
    old, end = loop.regions[0].blocks[0], terminator(loop.regions[0].blocks[0])
    inits = list(loop.operands)[3:]
    with ir.InsertionPoint(loop), loop.location:
        counts = _bit(0 if is_zero(inits[number - 1]) else 1)
        made = ir.Operation.create(
            For.OPERATION_NAME,
            results=[*(v.type for v in inits), counts.type],
            operands=[*loop.operands, counts],
            regions=1,
            attributes=attributes_of(loop),
        )
    body = made.regions[0].blocks.append(*(a.type for a in old.arguments), counts.type)
    for before, after in zip(old.arguments, body.arguments, strict=False):
        before.replace_all_uses_with(after)
    for op in block_ops(old):
        body.append(op)
    with ir.InsertionPoint(end), end.location:
        coming = list(end.operands)
        coming[number - 1] = reset.total
        ir.Operation.create(
            "scf.yield", operands=[*coming, _not(reset.keep) if reset.negated else reset.keep]
        )
    end.erase()
    if isa(reset.op, arith.SelectOp):
        reset.op.erase()
    for before, after in zip(loop.results, made.results, strict=False):
        before.replace_all_uses_with(after)
    loop.erase()
    return made


def _select_behind(loop: ir.Operation, number: int) -> None:
    """Replace uses of result ``number`` of ``loop`` by zeros where the last result, a flag, is set."""
    result = loop.results[number]
    uses = [(use.owner.operation, use.operand_number) for use in result.uses]
    if not uses:
        return
    chosen = ir.Operation.create(
        "arith.select",
        results=[result.type],
        operands=[loop.results[len(loop.results) - 1], result, zeros(result.type)],
    )
    for user, operand in uses:
        user.operands[operand] = chosen.results[0]


def _is_inside(value: ir.Value, op: ir.Operation) -> bool:
    """True if ``value`` is defined in a region of ``op``."""
    return any(block_of(value) == region.blocks[0] for region in op.regions)


def _by_iteration(dot: ir.Operation) -> None:
    """Have ``dot`` leave out an accumulator that is the zeros before its loop in the first iteration."""
    total = Dot(dot).c
    if not isinstance(total.owner, ir.Block) or total.owner != dot.block or len(list(total.uses)) > 1:
        return
    loop = dot.block.owner.operation
    if not isa(loop, For):
        return
    induction, lower = dot.block.arguments[0], For(loop).lower
    if not is_zero(loop.operands[2 + ir.BlockArgument(total).arg_number]):
        return
    with ir.InsertionPoint(dot), dot.location:
        _replace(dot, total, _differ(induction, lower))


def _made_by(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def _scalar(condition: ir.Value) -> ir.Value | None:
    """The one i1 that all elements of ``condition`` are, if it is known."""
    while str(condition.type) != "i1":
        op = _made_by(condition)
        if op is None or not moves_data(op):
            return None
        condition = source_of(op)
    return condition


def _bit(value: int) -> ir.Value:
    bit = ir.IntegerType.get_signless(1)
    attributes = {"value": ir.IntegerAttr.get(bit, value)}
    return ir.Operation.create("arith.constant", results=[bit], attributes=attributes).results[0]


def _not(value: ir.Value) -> ir.Value:
    made = ir.Operation.create("arith.xori", results=[value.type], operands=[value, _bit(1)])
    return made.results[0]


def _differ(left: ir.Value, right: ir.Value) -> ir.Value:
    attributes = {"predicate": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)}
    bit = ir.IntegerType.get_signless(1)
    made = ir.Operation.create("arith.cmpi", results=[bit], operands=[left, right], attributes=attributes)
    return made.results[0]


def _replace(dot: ir.Operation, total: ir.Value, use_c: ir.Value) -> None:
    """``dot`` onto ``total`` where ``use_c``, in its place."""
    made = ir.Operation.create(
        _DOT,
        results=[dot.results[0].type],
        operands=[*list(dot.operands)[:2], total, use_c, *list(dot.operands)[4:]],
        attributes=attributes_of(dot),
    )
    dot.results[0].replace_all_uses_with(made.results[0])
    dot.erase()
