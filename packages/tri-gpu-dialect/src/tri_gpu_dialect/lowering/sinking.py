"""Loads that only a reduction reads, moved down to where its tree takes them, where a thread has no registers for all.

    x0 = load; ... x255 = load; combine (combine x0 x1) (combine x2 x3) ...
    ->  x0 = load; x1 = load; combine x0 x1; x2 = load; ...

Assemblers move loads up as far as registers allow; those that stand in front of a long tree they do not always move down, and spill.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from tri_core.dialects.tt import LoadOp, MakeRangeOp, SplatOp
from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.traits import is_elementwise, replicates
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_gpu_dialect.edit import block_ops
from tri_gpu_dialect.lowering.context import Lowering
from tri_gpu_dialect.lowering.words import bit_width

__all__ = ["sink_loads"]

#: 32-bit registers that no thread of any hardware has more of
_REGISTERS = 256


def sink_loads(ctx: Lowering, op: ir.Operation) -> None:
    """Move what makes ``op``'s operands of loads, as it was lowered, down to its first users; ``op`` has just been lowered."""
    leaves = [value for operand in op.operands for value in ctx.registers(operand)]
    if sum(-(-bit_width(value.type) // 32) for value in leaves) <= _REGISTERS or isinstance(
        leaves[0].owner, ir.Block
    ):
        return
    made = _of_loads(op)
    entering = {operand for other in made for operand in other.operands if _owner(operand) not in made}
    given = {value for operand in entering for value in ctx.registers(operand)}
    if made:
        block = leaves[0].owner.operation.block
        _sink(block, _lowered(block, leaves, given))


def _of_loads(op: ir.Operation) -> set[ir.Operation]:
    """Loads of ``op``'s block, and what is computed of them, that make its operands; none where threads wait, write or exchange in between."""
    ops = block_ops(op.block)
    numbers = {other: i for i, other in enumerate(ops)}
    found: set[ir.Operation] = set()
    waiting = list(op.operands)
    while waiting:
        owner = _owner(waiting.pop())
        if owner is None or owner not in numbers or owner in found or not _is_quiet(owner):
            continue
        found.add(owner)
        if not isa(owner, LoadOp):
            waiting += owner.operands
    first = min((numbers[other] for other in found if isa(other, LoadOp)), default=numbers[op])
    if not all(_is_quiet(other) for other in islice(ops, first, numbers[op])):
        return set()
    return {other for other in found if numbers[other] >= first}


def _is_quiet(op: ir.Operation) -> bool:
    """True if ``op`` reads global memory at most once and exchanges nothing between threads: registers in,
    registers out.
    """
    if isa(op, LoadOp):
        return not reads_again(op)
    return (is_elementwise(op) or replicates(op) or isa(op, MakeRangeOp, SplatOp)) and not len(op.regions)


def _owner(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def _lowered(block: ir.Block, leaves: Sequence[ir.Value], given: set[ir.Value]) -> set[ir.Operation]:
    """Ops of ``block`` that make ``leaves`` of the values ``given``; constants stay where they are."""
    found: set[ir.Operation] = set()
    waiting = list(leaves)
    while waiting:
        value = waiting.pop()
        op = None if value in given else _owner(value)
        if op is not None and op.block == block and len(op.operands) and op not in found:
            found.add(op)
            waiting += op.operands
    return found


def _sink(block: ir.Block, moved: set[ir.Operation]) -> None:
    """Move each of the ops before the first that uses it, itself or through others of them; among themselves they keep their order."""
    ops = block_ops(block)
    anchors = {op: number for number, op in enumerate(ops) if op not in moved}
    sunk = [op for op in ops if op in moved]
    for op in reversed(sunk):
        anchors[op] = min((anchors[user] for user in _users(op, block)), default=len(ops))
    for op in sunk:
        if anchors[op] < len(ops):
            op.move_before(ops[anchors[op]])


def _users(op: ir.Operation, block: ir.Block) -> Iterator[ir.Operation]:
    """Ops of ``block`` that use what ``op`` makes, themselves or inside of them; blocks behind it do not count."""
    region = block.region
    for result in op.results:
        for use in result.uses:
            user = use.owner.operation
            while user.block.region != region:
                user = user.parent.operation
            if user.block == block:
                yield user
