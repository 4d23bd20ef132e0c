"""Loads of one word by which all threads of a program decide together.

Each thread loads a scalar by itself.  One that another program may change meanwhile, and that reads again (volatile, ``.cv``), may be
another value for each warp; where it decides about a loop or a branch in which threads work together, at barriers, warps would part there.
So one thread loads it and tells the others, as with atomics.
"""

from __future__ import annotations

from collections.abc import Iterator

from tri_core.dialects.tt import LoadOp, StoreOp
from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.regions import deciding_operands, ends_region, is_control, predecessors
from tri_core.ir.traits import is_pure
from tri_core.ir.views import defining_op, isa
from tri_core.ir.walking import collect
from tri_core.mlir import ir

__all__ = ["is_agreed"]


def is_agreed(load: ir.Operation) -> bool:
    """True if ``load``, a ``tt.load``, reads one scalar, not for the first time, that decides a branch in
    which threads cooperate.
    """
    if not _may_differ(load):
        return False
    return load in _agreed(_function(load))


def _may_differ(op: ir.Operation) -> bool:
    return isa(op, LoadOp) and not isinstance(op.results[0].type, ir.RankedTensorType) and reads_again(op)


def _function(op: ir.Operation) -> ir.Operation:
    """The outermost op around ``op`` but the module."""
    while op.parent is not None and op.parent.operation.parent is not None:
        op = op.parent.operation
    return op


def _agreed(function: ir.Operation) -> set[ir.Operation]:
    """The loads of ``function``; one that all do together has a barrier itself, so that what decides about it is one, too."""
    deciding = {op: _deciding(op) for op in collect(function) if is_control(op)}
    found: set[ir.Operation] = set()
    while True:
        more = {
            load
            for op, loads in deciding.items()
            if not loads <= found and any(inner in found or _works_together(inner) for inner in _inside(op))
            for load in loads
        }
        if more <= found:
            return found
        found |= more


def _inside(op: ir.Operation) -> Iterator[ir.Operation]:
    return (inner for inner in collect(op) if inner != op)


def _works_together(op: ir.Operation) -> bool:
    """True if ``op`` may contain a barrier: any op other than per-thread work on scalars."""
    if any(isinstance(value.type, ir.ShapedType) for value in (*op.operands, *op.results)):
        return True
    return not (is_pure(op) or is_control(op) or ends_region(op) or isa(op, LoadOp) or isa(op, StoreOp))


def _deciding(control: ir.Operation) -> set[ir.Operation]:
    """The loads by which ``control`` decides."""
    waiting, seen, found = list(deciding_operands(control)), set[ir.Value](), set[ir.Operation]()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        waiting += predecessors(value) or ()
        made = defining_op(value)
        if made is None:
            continue
        if _may_differ(made):
            found.add(made)
        waiting += deciding_operands(made) if is_control(made) else made.operands
    return found
