"""Dots that start their sum anew do so by their predicate, not by zeros that are written into the accumulator.

    for: s = select(new, zeros, t); t = dot(a, b, s)      ->     for: t = dot(a, b, t, use_c = !new)
    for t = zeros: t = dot(a, b, t)                       ->     for i, t = zeros: t = dot(a, b, t, use_c = i != lower)

The select is a move for each register of the sum in each iteration, and has the dot before it waited for first: a dot
that is still under way may be the accumulator of the next one, but nothing else may read it.  A condition is a scalar, or a
splat of one; a select whose result something else uses too is left alone, and so is a sum that an ``if`` which does
something else, too, sets to zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.pipeline_schedule import is_zero
from tri_gpu_dialect.edit import all_ops, functions

__all__ = ["AccumulatorInit"]

_DOT = "ttg.warp_group_dot"
_PASSES_ON = frozenset({"tt.splat", "ttg.convert_layout", "tt.broadcast", "tt.expand_dims"})


@dataclass(frozen=True)
class AccumulatorInit(Pass):
    """See the module; ``first`` has sums that are zero before a loop started by the predicate, too.

    Runs before ``overlap-dots``, which then leaves such dots under way.  ``first`` is off in the stage: the zeros are
    still what a loop that does not run gives, so that it saves nothing and costs a comparison per iteration.
    """

    name: ClassVar[str] = "accumulator-init"
    first: bool = False

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Give the dots of every function of ``module`` their predicates."""
        for function in functions(module):
            for dot in [op for op in all_ops(function) if op.name == _DOT and len(op.operands) == 3]:
                _by_select(dot)
                if self.first and len(dot.operands) == 3:
                    _by_iteration(dot)


def _by_select(dot: ir.Operation) -> None:
    """Take a select between zeros and a sum out of the accumulator of ``dot``."""
    select = _made_by(dot.operands[2])
    if select is None or select.name != "arith.select" or len(list(select.results[0].uses)) > 1:
        return
    condition, if_true, if_false = select.operands
    scalar = _scalar(condition)
    if scalar is None or is_zero(if_true) == is_zero(if_false):
        return
    with ir.InsertionPoint(dot), dot.location:
        use_c = _not(scalar) if is_zero(if_true) else scalar
        _replace(dot, if_false if is_zero(if_true) else if_true, use_c)
    select.erase()


def _by_iteration(dot: ir.Operation) -> None:
    """Have ``dot`` leave out an accumulator that is the zeros before its loop in the first iteration."""
    total = dot.operands[2]
    if not isinstance(total.owner, ir.Block) or total.owner != dot.block or len(list(total.uses)) > 1:
        return
    loop = dot.block.owner.operation
    if loop.name != "scf.for":
        return
    induction, lower = dot.block.arguments[0], loop.operands[0]
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
        if op is None or op.name not in _PASSES_ON:
            return None
        condition = op.operands[0]
    return condition


def _not(value: ir.Value) -> ir.Value:
    bit = value.type
    constant = ir.Operation.create(
        "arith.constant", results=[bit], attributes={"value": ir.IntegerAttr.get(bit, 1)}
    )
    made = ir.Operation.create("arith.xori", results=[bit], operands=[value, constant.results[0]])
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
        operands=[*list(dot.operands)[:2], total, use_c],
        attributes={name: dot.attributes[name] for name in dot.attributes},
    )
    dot.results[0].replace_all_uses_with(made.results[0])
    dot.erase()
