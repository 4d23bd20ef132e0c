"""Dots that run on their own, whose results only the next iteration of a loop uses: they may stay under way into it."""

from __future__ import annotations

from collections.abc import Collection

from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import (
    ArriveBarrierOp,
    LocalAllocOp,
    LocalDeallocOp,
    MemDescIndexOp,
    WarpGroupDotOp,
    WarpGroupDotWaitOp,
)
from tri_gpu_dialect.edit import block_of, block_ops, buffer_of, terminator
from tri_gpu_dialect.types import bitwidth

__all__ = [
    "CarriedDot",
    "carried_dots",
    "frees_buffers",
    "is_fresh",
    "late_dots",
    "reads_what_stays",
    "releases_stage",
]

#: bits of a register
_REGISTER = 32


@dataclass(frozen=True)
class CarriedDot:
    """A dot whose result, waited for by ``wait``, is yielded as number ``index`` and nothing else."""

    dot: ir.Operation
    wait: ir.Operation
    index: int

    @property
    def only_adds(self) -> bool:
        """True if the carried value has one use: the next iteration's dot."""
        body = self.dot.block
        uses = list(body.arguments[1 + self.index].uses)
        return len(uses) == 1 and uses[0].owner.operation == self.dot and uses[0].operand_number == 2


def late_dots(loop: ir.Operation, staged: Collection[ir.Value]) -> list[CarriedDot]:
    """The dots of ``loop`` that will stay under way into the next iteration, once the buffers ``staged`` are stages of rings."""
    body = loop.regions[0].blocks[0]
    return [each for each in carried_dots(loop) if reads_what_stays(each.dot, body, staged)]


def carried_dots(loop: ir.Operation) -> list[CarriedDot]:
    """The dots of ``loop``, a counted loop, whose results the next iteration alone uses.

    Not those of sums that share registers: a loop carries each on its own, so they are taken apart, and put together
    again, which an assembler does not do under a dot.
    """
    end = terminator(loop.regions[0].blocks[0])
    found = []
    for op in block_ops(end.block):
        is_wait = isa(op, WarpGroupDotWaitOp) and len(op.results) == 1 and is_fresh(op)
        if is_wait and bitwidth(op.results[0].type.element_type) >= _REGISTER:
            uses = list(op.results[0].uses)
            if len(uses) == 1 and uses[0].owner.operation == end:
                found.append(
                    CarriedDot(
                        cast(op, WarpGroupDotWaitOp).inputs[0].owner.operation, op, uses[0].operand_number
                    )
                )
    return found


def is_fresh(wait: ir.Operation) -> bool:
    """True if ``wait`` waits for all dots because of a dot in its own block."""
    if not len(wait.operands) or ir.IntegerAttr(wait.attributes["pendings"]).value:
        return False
    made = [v.owner for v in wait.operands]
    return all(not isinstance(o, ir.Block) and isa(o.operation, WarpGroupDotOp) for o in made) and all(
        v.owner.operation.block == wait.block for v in wait.operands
    )


def reads_what_stays(dot: ir.Operation, body: ir.Block, staged: Collection[ir.Value] = ()) -> bool:
    """True if the next iteration of ``body`` does not write memory that ``dot`` still reads; values in
    ``staged`` will be stages of rings.

    It does with stages of a ring, and with what was made before the loop.  It does not with a buffer that the body fills anew,
    nor with registers that the body writes: an instruction that runs on its own may read those, too, until it is waited for.
    Nor does it with a stage that a producer is allowed to fill again.
    """
    operands = list(dot.operands)
    made = [v for v in (*operands[:2], *operands[4:]) if block_of(v) == body and v not in staged]
    arrivals = [op for op in block_ops(body) if isa(op, ArriveBarrierOp)]
    freed = {buffer_of(v) for op in arrivals for v in op.operands}
    if any(not frees_buffers(op) for op in arrivals) or any(buffer_of(v) in freed for v in made):
        return False
    return not any(isinstance(v.type, ir.RankedTensorType) or _is_filled_in(body, buffer_of(v)) for v in made)


def _is_filled_in(body: ir.Block, buffer: ir.Value) -> bool:
    is_alloc = not isinstance(buffer.owner, ir.Block) and isa(buffer.owner.operation, LocalAllocOp)
    return is_alloc and block_of(buffer) == body


def frees_buffers(op: ir.Operation) -> bool:
    """True if buffers read before ``op`` may be written again after it."""
    return isa(op, LocalDeallocOp) or (isa(op, ArriveBarrierOp) and len(op.operands) > 1)


def releases_stage(op: ir.Operation) -> bool:
    """True if ``op`` releases a stage to its producer, or computes the barrier for that."""
    if isa(op, MemDescIndexOp):
        return all(isa(use.owner.operation, ArriveBarrierOp) for use in op.results[0].uses)
    return isa(op, ArriveBarrierOp)
