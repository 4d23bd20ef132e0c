"""The interval that an integer value of TTGIR lies in, for tensors over all elements.

Intervals are taken without overflow; :class:`Ranges` is told whether that may be assumed.  Where it may not, a
value whose interval leaves its type can be anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tri_core.mlir import ir

__all__ = ["Interval", "Ranges"]

Interval = tuple[int, int]

#: ops that only arrange elements
_ARRANGING = frozenset(
    (
        "tt.splat",
        "tt.broadcast",
        "tt.expand_dims",
        "tt.reshape",
        "tt.trans",
        "ttg.convert_layout",
        "arith.extsi",
    )
)
_GRID = (1 << 31) - 1


def _products(x: Interval, y: Interval) -> Interval:
    corners = [a * b for a in x for b in y]
    return min(corners), max(corners)


def _quotient(x: Interval, y: Interval) -> Interval:
    """Division toward zero."""
    if y[0] <= 0:  # it cannot make a number larger, but turn its sign
        most = max(abs(x[0]), abs(x[1]))
        return -most, most
    corners = [abs(a) // b * (1 if a >= 0 else -1) for a in x for b in y]
    return min(corners), max(corners)


def _remainder(x: Interval, y: Interval) -> Interval:
    """A remainder has the dividend's sign, and is smaller than the divisor and no larger than the dividend."""
    most = max(abs(y[0]), abs(y[1]), 1) - 1
    return (0 if x[0] >= 0 else max(-most, x[0])), min(most, max(x[1], 0))


def _shift_left(x: Interval, y: Interval) -> Interval | None:
    return _products(x, (1 << y[0], 1 << y[1])) if 0 <= y[0] <= y[1] < 64 else None


def _shift_right(x: Interval, y: Interval) -> Interval | None:
    return (x[0] >> y[1], x[1] >> y[0]) if x[0] >= 0 and 0 <= y[0] <= y[1] < 64 else None


def _and(x: Interval, y: Interval) -> Interval | None:
    bounds = [i[1] for i in (x, y) if i[0] >= 0]
    return (0, min(bounds)) if bounds else None


#: op -> interval of its result from those of its operands, None when nothing is known
_BINARY: dict[str, Callable[[Interval, Interval], Interval | None]] = {
    "arith.addi": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "arith.subi": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "arith.muli": _products,
    "arith.divsi": _quotient,
    "arith.remsi": _remainder,
    "arith.minsi": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    "arith.maxsi": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    "arith.andi": _and,
    "arith.shli": _shift_left,
    "arith.shrsi": _shift_right,
    "arith.shrui": _shift_right,
}


@dataclass
class Ranges:
    """Intervals of values, remembered; ``no_overflow``: signed arithmetic never leaves its type."""

    no_overflow: bool
    _known: dict[ir.Value, Interval] = field(default_factory=dict)

    def of(self, value: ir.Value) -> Interval:
        """The interval of ``value``, an integer or a tensor of integers."""
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = self._clamped(value, self._computed(value))
        return found

    def _clamped(self, value: ir.Value, found: Interval | None) -> Interval:
        width = ir.IntegerType(_element(value.type)).width
        least, most = -(1 << (width - 1)), (1 << (width - 1)) - 1
        if found is None:
            return least, most
        if least <= found[0] and found[1] <= most:
            return found
        # without overflow the value lies in both
        return (max(found[0], least), min(found[1], most)) if self.no_overflow else (least, most)

    def _computed(self, value: ir.Value) -> Interval | None:
        if isinstance(value, ir.BlockArgument):
            return self._induction(value)
        op = value.owner
        if op.name in _ARRANGING:
            return self.of(op.operands[0])
        if op.name in _BINARY:
            return _BINARY[op.name](self.of(op.operands[0]), self.of(op.operands[1]))
        match op.name:
            case "tt.make_range":
                return _attribute(op, "start"), _attribute(op, "end") - 1
            case "tt.get_program_id" | "tt.get_num_programs":
                return 0, _GRID
            case "arith.constant":
                return _constant(op.attributes["value"])
            case "arith.select":
                x, y = self.of(op.operands[1]), self.of(op.operands[2])
                return min(x[0], y[0]), max(x[1], y[1])
        return None

    def _induction(self, value: ir.BlockArgument) -> Interval | None:
        """The variable of a loop that counts up stays between its bounds."""
        loop = value.owner.owner
        if loop.name != "scf.for" or value.arg_number != 0:
            return None
        lower, upper, step = (self.of(v) for v in list(loop.operands)[:3])
        return (lower[0], upper[1] - 1) if step[0] > 0 else None


def _element(type_: ir.Type) -> ir.Type:
    return type_.element_type if isinstance(type_, ir.ShapedType) else type_


def _attribute(op: ir.Operation, name: str) -> int:
    return int(ir.IntegerAttr(op.attributes[name]).value)


def _constant(value: ir.Attribute) -> Interval | None:
    if isinstance(value, ir.DenseElementsAttr):
        if not value.is_splat:
            numbers = [int(v) for v in value]
            return min(numbers), max(numbers)
        value = value.get_splat_value()
    if not isinstance(value, ir.IntegerAttr):
        return None
    number = int(value.value)
    return number, number
