"""The ranges of integer values of a function, for tensors over all elements; see :mod:`.integer_range`.

What comes from outside (parameters, memory) can be anything; program ids count from 0; the variable of a loop that
counts up stays between its bounds, in steps; other carried values can be anything.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import field

from tri_core.ir.regions import counted, is_branch, predecessors
from tri_core.ir.traits import moves_data
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_gpu_dialect.analysis.integer_range import BINARY, COMPARISONS, IntegerRange

__all__ = ["Ranges", "is_integer"]

#: programs along an axis, and so their numbers, are positive i32
_PROGRAMS = (1 << 31) - 1


@dataclass
class Ranges:
    """Ranges of values, remembered while the IR stays.

    ``no_overflow``: signed arithmetic never leaves its type; ``least``: values that are known to be at least so much.
    """

    no_overflow: bool = False
    least: Mapping[ir.Value, int] = field(default_factory=dict)
    _known: dict[ir.Value, IntegerRange] = field(default_factory=dict)

    def of(self, value: ir.Value) -> IntegerRange:
        """The range of ``value``, an integer or a tensor of integers; TypeError for anything else."""
        if not is_integer(value):
            raise TypeError(f"{value.type} has no range; an integer or a tensor of integers is expected")
        ahead = [value]
        # what a value is computed from comes first, without recursion: chains are long
        while ahead:
            missing = [v for v in _sources(ahead[-1]) if v not in self._known]
            if missing:
                ahead += missing
            else:
                at = ahead.pop()
                self._known[at] = self._computed(at)
        return self._known[value]

    def _computed(self, value: ir.Value) -> IntegerRange:
        width = _width(value)
        whole = IntegerRange.top(width)
        if isinstance(value.owner, ir.Block):
            found = self._induction(value)
        else:
            found = self._result(value.owner.operation, value, width)
        found = whole if found is None else found
        low = self.least.get(value)
        return found if low is None else found.within(IntegerRange.between(width, low, whole.high))

    def _result(self, op: ir.Operation, value: ir.Value, width: int) -> IntegerRange | None:
        known = [self._known[v] for v in _sources(value)]
        if (combine := BINARY.get(op.name)) is not None:
            return combine(known[0], known[1], self.no_overflow)
        if moves_data(op):
            return known[0]
        match op.name:
            case "tt.make_range":
                return IntegerRange.between(width, _attribute(op, "start"), _attribute(op, "end") - 1)
            case "tt.get_program_id":
                return IntegerRange.between(width, 0, _PROGRAMS - 1)
            case "tt.get_num_programs" | "ttg.get_grid_size":
                return IntegerRange.between(width, 1, _PROGRAMS)
            case "arith.constant":
                return _constant(op.attributes["value"].maybe_downcast(), width)
            case "arith.extsi" | "arith.trunci" | "arith.extui":
                return known[0].resized(width, signed=not isa(op, arith.ExtUIOp))
            case "arith.select":
                return known[0].join(known[1])
            case "arith.cmpi":
                answer = COMPARISONS[_attribute(op, "predicate")](*known)
                return None if answer is None else IntegerRange.constant(width, int(answer))
        return functools.reduce(IntegerRange.join, known) if known and is_branch(op) else None

    def _induction(self, value: ir.Value) -> IntegerRange | None:
        """The variable of a loop that counts up, from a lower bound in steps that are known to be positive."""
        sources = _sources(value)
        if not sources:
            return None
        lower, upper, step = (self._known[v] for v in sources)
        if step.low <= 0 or lower.low >= upper.high:
            return None
        last = upper.high - 1
        if lower.value is not None and step.value is not None:
            last = lower.low + (last - lower.low) // step.low * step.low
        return IntegerRange.between(_width(value), lower.low, last)


def is_integer(value: ir.Value) -> bool:
    """True if ``value`` is an integer, or a tensor of integers."""
    return isinstance(_element(value.type), ir.IntegerType)


def _sources(value: ir.Value) -> list[ir.Value]:
    """The integers that the range of ``value`` is computed from; nothing for what can be anything."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        loop = counted(value)
        found = [] if loop is None or loop.is_unsigned else loop.bounds
    else:
        found = _operands(owner.operation, value)
    return found if all(is_integer(v) for v in found) else []


def _operands(op: ir.Operation, value: ir.Value) -> list[ir.Value]:
    if BINARY.get(op.name) is not None or isa(op, arith.CmpIOp):
        return list(op.operands)[:2]
    if moves_data(op) or isa(op, arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp):
        return list(op.operands)[:1]
    if isa(op, arith.SelectOp):
        return list(op.operands)[1:]
    return (predecessors(value) or []) if is_branch(op) else []


def _element(type_: ir.Type) -> ir.Type:
    return type_.element_type if isinstance(type_, ir.ShapedType) else type_


def _width(value: ir.Value) -> int:
    return int(ir.IntegerType(_element(value.type)).width)


def _attribute(op: ir.Operation, name: str) -> int:
    return int(ir.IntegerAttr(op.attributes[name]).value)


def _constant(value: ir.Attribute, width: int) -> IntegerRange | None:
    if isinstance(value, ir.DenseElementsAttr):
        if not value.is_splat:
            return _all_of(value, width)
        value = value.get_splat_value().maybe_downcast()
    if isinstance(value, (ir.IntegerAttr, ir.BoolAttr)):
        return IntegerRange.constant(width, int(value.value))
    return None


def _all_of(values: ir.DenseElementsAttr, width: int) -> IntegerRange | None:
    """Smallest range that contains all elements of ``values``, which is not a splat."""
    if not isinstance(values, ir.DenseIntElementsAttr):
        return None
    numbers = [IntegerRange.constant(width, int(v)) for v in values]
    return functools.reduce(IntegerRange.join, numbers)
