"""Variation of a kernel's program lengths: trip counts as functions of the program ids.

A bound is read as ``sum(slope_axis * id_axis) + rest``, but for what rounding adds; ``rest`` is the same for all programs.  A slope
that nobody can tell (a product of two ids, what is read from memory by an id) is None.  This decides in which order programs
run, and whether numbers of programs are forwarded out evenly; never what a program computes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from fractions import Fraction

from tri_core.dialects.tt import FuncOp, GetProgramIdOp
from tri_core.ir.regions import For, counted, is_control
from tri_core.ir.traits import is_cast
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_gpu_dialect.edit import all_ops

__all__ = ["Slopes", "TripCounts", "trip_counts"]

#: along each axis what a value grows by from a program to the next one; None: unknown; axes that do not matter are left out
Slopes = Mapping[int, Fraction | None]

_UNKNOWN: Slopes = dict.fromkeys(range(3))


@dataclass(frozen=True)
class TripCounts:
    """``slopes``: iterations of all loops that a program has more than the one before it along an axis, where that is known.

    ``differ``: programs are of different lengths, as far as one can see.
    """

    slopes: Mapping[int, Fraction]
    differ: bool

    @property
    def steepest(self) -> int | None:
        """The axis along which lengths differ most."""
        return max(self.slopes, key=lambda axis: abs(self.slopes[axis]), default=None)


def trip_counts(function: ir.Operation) -> TripCounts:
    """Of the counted loops of ``function``, whose program ids are those of a launch."""
    reader, total = _Reader(), dict[int, Fraction | None]()
    for op in all_ops(function):
        if (loop := For.of(op)) is not None:
            length = _sum(reader.of(loop.upper), reader.of(loop.lower), -1)
            count = _scaled(length, Fraction(1, _constant(loop.step) or 1))
            total = dict(_sum(total, count, 1))
    return TripCounts({axis: slope for axis, slope in total.items() if slope}, bool(total))


@dataclass
class _Reader:
    known: dict[ir.Value, Slopes] = field(default_factory=dict)

    def of(self, value: ir.Value) -> Slopes:
        """Of a scalar; a chain of scalar ops is short."""
        if value not in self.known:
            self.known[value] = self._read(value)
        return self.known[value]

    def _read(self, value: ir.Value) -> Slopes:
        if isinstance(value.owner, ir.Block):
            return self._argument(value)
        op = value.owner.operation
        if isa(op, GetProgramIdOp):
            return {int(ir.IntegerAttr(op.attributes["axis"]).value): Fraction(1)}
        return _UNKNOWN if is_control(op) else self._computed(op)

    def _argument(self, value: ir.Value) -> Slopes:
        if isa(value.owner.owner.operation, FuncOp):
            return {}
        loop = counted(value)
        return _UNKNOWN if loop is None or any(self.of(v) for v in loop.bounds) else {}

    def _computed(self, op: ir.Operation) -> Slopes:
        operands = [self.of(v) for v in op.operands]
        if is_cast(op):
            return operands[0]
        if (rule := _RULES.get(op.name)) is not None:
            return rule(operands)
        factor = _factor(op)
        if factor is not None:
            value, by = factor
            return _scaled(self.of(value), by)
        return dict.fromkeys(axis for each in operands for axis in each)


def _factor(op: ir.Operation) -> tuple[ir.Value, Fraction] | None:
    """The operand and the constant that ``op`` multiplies by, but for rounding."""
    if len(op.operands) != 2:
        return None
    left, right = op.operands
    by = _constant(right)
    if isa(op, arith.MulIOp) and by is None:
        left, by = right, _constant(left)
    if by is None:
        return None
    rule = _FACTORS.get(op.name)
    factor = None if rule is None else rule(by)
    return None if factor is None else (left, factor)


def _constant(value: ir.Value) -> int | None:
    if isinstance(value.owner, ir.Block) or not isa(value.owner.operation, arith.ConstantOp):
        return None
    attribute = value.owner.operation.attributes["value"].maybe_downcast()
    return int(attribute.value) if isinstance(attribute, ir.IntegerAttr) else None


# --- slopes -----------------------------------------------------------------------------------------------


def _joined(one: Slopes, other: Slopes, made: Callable[[Fraction, Fraction], Fraction | None]) -> Slopes:
    """Axis by axis; nothing that is zero."""
    found: dict[int, Fraction | None] = {}
    for axis in sorted({*one, *other}):
        left, right = one.get(axis, Fraction(0)), other.get(axis, Fraction(0))
        found[axis] = None if left is None or right is None else made(left, right)
    return {axis: slope for axis, slope in found.items() if slope != 0}


def _sum(one: Slopes, other: Slopes, sign: int) -> Slopes:
    return _joined(one, other, lambda left, right: left + sign * right)


def _scaled(slopes: Slopes, by: Fraction) -> Slopes:
    return {axis: None if slope is None else slope * by for axis, slope in slopes.items() if by}


def _between(one: Slopes, other: Slopes) -> Slopes:
    """Of a value that is now the one, now the other: the steeper slope, if both have one direction."""
    return _joined(one, other, lambda left, right: None if left * right < 0 else max(left, right, key=abs))


#: op -> the slopes of its result, of those of its operands
_RULES: Mapping[str, Callable[[Sequence[Slopes]], Slopes]] = {
    "arith.addi": lambda s: _sum(s[0], s[1], 1),
    "arith.subi": lambda s: _sum(s[0], s[1], -1),
    **dict.fromkeys(
        ("arith.minsi", "arith.minui", "arith.maxsi", "arith.maxui", "arith.select"),
        lambda s: _between(s[-2], s[-1]),
    ),
}


def _inverse(by: int) -> Fraction | None:
    return Fraction(1, by) if by else None


#: op -> what it multiplies its first operand by, but for rounding, if the second is a constant
_FACTORS: Mapping[str, Callable[[int], Fraction | None]] = {
    "arith.muli": Fraction,
    "arith.shli": lambda by: Fraction(2) ** by,
    **dict.fromkeys(("arith.shrsi", "arith.shrui"), lambda by: Fraction(2) ** -by),
    **dict.fromkeys(
        ("arith.divsi", "arith.divui", "arith.ceildivsi", "arith.ceildivui", "arith.floordivsi"), _inverse
    ),
}
