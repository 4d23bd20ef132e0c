"""Loops that only repeat a plain load: a compiler may load once, and never see what comes."""

from __future__ import annotations

from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.effects import READ_DESCRIBED, READ_GLOBAL, has_at_most
from tri_core.ir.regions import While
from tri_core.ir.rewriting import terminator
from tri_core.ir.traits import is_pure
from tri_core.ir.views import cast, isa
from tri_core.ir.walking import collect
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_core.notices import WeakWaitWarning, warn

__all__ = ["warn_of_weak_waits", "weak_waits"]


def warn_of_weak_waits(module: ir.Module) -> None:
    """Give a warning for each loop of :func:`weak_waits` of ``module``."""
    for load in weak_waits(module):
        place = source_location(load.location)
        where = "" if place is None else f"{place.file}:{place.line}:{place.column + 1}: "
        warn(
            f"{where}this loop only repeats a weak load; the compiler may do it once and loop for ever: "
            "use tl.load(..., volatile=True) or an atomic (tl.atomic_add(p, 0, sem='acquire'))",
            WeakWaitWarning,
        )


def weak_waits(module: ir.Module) -> list[ir.Operation]:
    """The plain loads of always the same words on which loops of ``module`` depend that write nothing and wait for nobody."""
    loops = [cast(op, While) for op in collect(module.operation) if isa(op, While)]
    return [load for loop in loops if (load := _waited_for(loop)) is not None]


def _waited_for(loop: While) -> ir.Operation | None:
    """A load of ``loop`` that its condition depends on, where the loop does nothing but load, and asks for the same words again."""
    inside = [op for op in collect(loop.op) if op != loop.op]
    if not all(len(op.regions) or has_at_most(op, READ_GLOBAL, READ_DESCRIBED) for op in inside):
        return None
    try:
        loads = [op for op in _Slice(loop).of_condition() if not has_at_most(op)]
    except _Changing:
        return None
    return None if any(map(reads_again, loads)) else next(iter(loads), None)


class _Changing(Exception):
    """An iteration may change it otherwise than through memory."""


class _Slice:
    """The ops of a loop by which a value is computed, from whatever is outside of it."""

    def __init__(self, loop: While) -> None:
        self.loop = loop
        self._found: list[ir.Operation] = []

    def of_condition(self) -> list[ir.Operation]:
        """Those of the condition; _Changing for a counter, and for what regions within the loop compute."""
        self._add(self.loop.condition, [])
        return self._found

    def _add(self, value: ir.Value, path: list[ir.Value]) -> None:
        if value in path:
            # round the loop: a value that stays is none that changes
            if any(not isinstance(each.owner, ir.Block) for each in path[path.index(value) :]):
                raise _Changing
            return
        path = [*path, value]
        if isinstance(value.owner, ir.Block):
            if value.owner in (self.loop.before, self.loop.after):
                self._add(self._given(ir.BlockArgument(value)), path)
            elif _is_in(value.owner.owner.operation, self.loop.op):
                raise _Changing
            return
        op = value.owner.operation
        if not _is_in(op, self.loop.op) or op in self._found:
            return
        if op == self.loop.op or (len(op.regions) and not is_pure(op)):
            raise _Changing
        for operand in op.operands:
            self._add(operand, path)
        self._found.append(op)

    def _given(self, argument: ir.BlockArgument) -> ir.Value:
        """Value that an iteration forwards to ``argument`` of one of the loop's two blocks."""
        if argument.owner == self.loop.before:
            return terminator(self.loop.after).operands[argument.arg_number]
        return self.loop.passed[argument.arg_number]


def _is_in(op: ir.Operation | None, loop: ir.Operation) -> bool:
    """True if ``op`` is ``loop`` or nested in it."""
    while op is not None:
        if op == loop:
            return True
        op = None if op.parent is None else op.parent.operation
    return False
