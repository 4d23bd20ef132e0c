"""Counted loops: how often they run, and copies of their bodies.

A counted loop runs while its variable is below the upper bound, in signed order or, with ``unsignedCmp``, unsigned.
Its step is positive.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.ir.regions import For
from tri_core.ir.rewriting import clone_mapped, for_like
from tri_core.ir.views import defining_op
from tri_core.mlir import arith, ir
from tri_core.passes.rewriting import constant, make

__all__ = [
    "body",
    "carried",
    "copy_body",
    "known_trips",
    "make_loop",
    "runs",
    "trips",
    "yielded",
]

_BOUNDS = 3
_SLT, _ULT = 2, 6


def body(loop: ir.Operation) -> ir.Block:
    """The block of ``loop``: the variable and the carried values are its arguments."""
    return loop.regions[0].blocks[0]


def carried(loop: ir.Operation) -> list[ir.Value]:
    """The initial values of what ``loop`` carries."""
    return list(loop.operands)[_BOUNDS:]


def yielded(loop: ir.Operation) -> ir.Operation:
    """The terminator of the body."""
    operations = body(loop).operations
    return operations[len(operations) - 1].operation


def known_trips(loop: ir.Operation) -> int | None:
    """Trip count of ``loop``, if its bounds are constants; None otherwise."""
    bounds = [_integer(v) for v in list(loop.operands)[:_BOUNDS]]
    if any(b is None for b in bounds):
        return None
    low, high, step = (b for b in bounds if b is not None)
    if "unsignedCmp" in loop.attributes:
        width = getattr(For(loop).lower.type, "width", 64)
        low, high, step = (b % (1 << width) for b in (low, high, step))
    return max(0, -((low - high) // step)) if step > 0 else None


def trips(loop: ir.Operation) -> ir.Value:
    """Trip count of ``loop``, computed before it, as an unsigned integer of the induction variable's type."""
    low, high, step = list(loop.operands)[:_BOUNDS]
    type_ = low.type
    one, zero = (_number(loop, type_, n) for n in (1, 0))
    # high - low may exceed the signed range: all of this is unsigned
    last = make(loop, "arith.subi", type_, [make(loop, "arith.subi", type_, [high, low]), one])
    whole = make(loop, "arith.addi", type_, [make(loop, "arith.divui", type_, [last, step]), one])
    return make(loop, "arith.select", type_, [runs(loop), whole, zero])


def runs(loop: ir.Operation) -> ir.Value:
    """Condition (i1) that ``loop`` runs at all."""
    kind = _ULT if "unsignedCmp" in loop.attributes else _SLT
    predicate = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), kind)
    i1 = ir.IntegerType.get_signless(1)
    return make(loop, "arith.cmpi", i1, list(loop.operands)[:2], {"predicate": predicate})


def make_loop(
    like: ir.Operation, bounds: Sequence[ir.Value], initial: Sequence[ir.Value], without: Sequence[str] = ()
) -> ir.Operation:
    """An empty loop before ``like`` with its attributes except ``without``; its body has arguments only."""
    return for_like(like, bounds, initial, without=without, ip=ir.InsertionPoint(like))


def copy_body(loop: ir.Operation, arguments: Sequence[ir.Value], ip: ir.InsertionPoint) -> list[ir.Value]:
    """A copy at ``ip`` of the body of ``loop`` with ``arguments`` for its own; gives what it yields."""
    made: dict[ir.Value, ir.Value] = dict(zip(body(loop).arguments, arguments, strict=True))
    end = yielded(loop)
    for view in body(loop).operations:
        op = view.operation
        if op == end:
            break
        clone_mapped(op, made, ip)
    return [made.get(value, value) for value in end.operands]


def _integer(value: ir.Value) -> int | None:
    op = defining_op(value, arith.ConstantOp)
    return ir.IntegerAttr(op.attributes["value"]).value if op is not None else None


def _number(at: ir.Operation, type_: ir.Type, number: int) -> ir.Value:
    return constant(at, ir.IntegerAttr.get(type_, number))
