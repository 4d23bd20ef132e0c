"""Reductions of what a loop sums up, moved into the loop.

``total += x`` over tiles and ``sum(total)`` after the loop keep a tile of partial sums in memory.  When
nothing else looks at the tile, the loop may as well carry the sum itself and reduce each x, which stays in
registers.  This is done for large tiles only: reducing a small one costs more than it saves.
"""

from __future__ import annotations

from tri_backend_cpu.graph.functions import neutral_element
from tri_core.dialects import tt
from tri_core.ir.views import isa
from tri_core.ttir import Block, ForLoop, Op, Type, Value, as_for, constant_of

__all__ = ["MIN_ELEMENTS", "reduce_early"]

#: tiles smaller than this are left alone
MIN_ELEMENTS = 256


def reduce_early(body: Block) -> None:
    """Rewrite the loops of ``body`` that only feed reductions."""
    for op in list(body.walk()):
        if (loop := as_for(op)) is not None:
            for index in range(len(loop.results)):
                reduction = _only_reduction(loop, index)
                if reduction is not None:
                    _move(loop, index, reduction)


def _only_reduction(loop: ForLoop, index: int) -> Op | None:
    """The reduction that carried value ``index`` of ``loop`` exists for, if there is nothing else."""
    result = loop.results[index]
    if not result.is_tensor or result.type.numel < MIN_ELEMENTS or len(result.uses) != 1:
        return None
    reduction = result.uses[0][0]
    if not isa(reduction, tt.ReduceOp) or len(reduction.operands) != 1:
        return None
    neutral = neutral_element(reduction.blocks[0], result.dtype)
    start = constant_of(loop.inits[index])
    if neutral is None or start is None or float(start) != float(neutral):
        return None
    return reduction if _combination(loop, index, reduction) is not None else None


def _combination(loop: ForLoop, index: int, reduction: Op) -> Op | None:
    """The op of the loop's body that combines the carried value with a new one, as ``reduction`` would."""
    argument = loop.iter_args[index]
    value = loop.yielded[index]
    op = value.op
    if op is None or not op.has_kind_of(reduction.blocks[0].ops[0]) or op.parent is not loop.body:
        return None
    alone = len(value.uses) == 1 and len(argument.uses) == 1
    return op if alone and argument in op.operands and len(set(op.operands)) == len(op.operands) else None


def _move(loop: ForLoop, index: int, reduction: Op) -> None:
    """Carry what ``reduction`` gives instead of what it takes."""
    combination = _combination(loop, index, reduction)
    if combination is None or combination.parent is None:
        return
    type_ = reduction.result.type
    argument = loop.iter_args[index]
    position = 1 - combination.operands.index(argument)
    element = combination.operands[position]
    inner = Op(
        "tt.reduce", [], [], reduction.attributes, combination.location, combination.parent, combination.order
    )
    inner.blocks = reduction.blocks
    inner.results.append(Value(type_, 0, op=inner))
    inner.use(0, element)
    combination.use(position, inner.result)
    combination.parent.ops.insert(combination.parent.ops.index(combination), inner)
    for value in (argument, combination.result, loop.results[index]):
        value.type = type_
    _restart(loop, index, type_)
    _replace(reduction, loop.results[index])


def _restart(loop: ForLoop, index: int, type_: Type) -> None:
    """The neutral element in the shape of the sum."""
    number, op = constant_of(loop.inits[index]), loop.op
    if op.parent is None:
        return
    made = Op("arith.constant", [], [], {"value": number}, op.location, op.parent, op.order)
    made.results.append(Value(type_, 0, op=made))
    op.parent.ops.insert(op.parent.ops.index(op), made)
    loop.set_init(index, made.result)


def _replace(reduction: Op, value: Value) -> None:
    """Let the users of ``reduction`` use ``value``, and drop it."""
    for user, position in list(reduction.result.uses):
        user.use(position, value)
    value.uses = [(u, p) for u, p in value.uses if u is not reduction]
    if reduction.parent is not None:
        reduction.parent.ops.remove(reduction)
