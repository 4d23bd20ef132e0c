"""Integer expressions as sums of scalars: addresses that need one addition per loop level.

``base + row * stride + column`` becomes parts by level: ``base + row * stride`` is added once per row, the
column once per vector, and constants end in the instruction's displacement.
"""

from __future__ import annotations

from dataclasses import field
from typing import NamedTuple

from tri_backend_cpu.analysis.axis import AxisAnalysis
from tri_backend_cpu.analysis.depth import STRETCH
from tri_backend_cpu.builder import I64
from tri_backend_cpu.lower.frame import Frame
from tri_backend_cpu.lower.place import Lanes, Place
from tri_backend_cpu.lower.values import Values
from tri_core.lazy_dataclasses import dataclass
from tri_core.ttir import Op, Value, constant_of

__all__ = ["Linear", "Runs", "linear"]


@dataclass
class Linear:
    """``constant + sum(parts) + stride * lane + vector``, in i64.

    ``parts`` are scalars of i64; ``vector`` is a vector of i32 or i64, if the rest cannot say it.
    """

    constant: int = 0
    parts: list[Lanes] = field(default_factory=list)
    stride: int = 0
    vector: Lanes | None = None

    def total(self, frame: Frame) -> Lanes | None:
        """The sum of the parts, summed by level; None when there are none."""
        total: Lanes | None = None
        for part in sorted(self.parts, key=lambda p: p.level):
            if total is None:
                total = part
                continue
            level = max(total.level, part.level)
            with frame.at(level) as b:
                total = Lanes(b.same("arith.addi", total.value, part.value), level, wide=False)
        return total


class Runs(NamedTuple):
    """Of what runs a sum may be made: those that ``axis`` knows to last for ``length`` points along the lane."""

    axis: AxisAnalysis
    length: int


def linear(e: Values, value: Value, place: Place, runs: Runs) -> Linear:
    """``value``, an integer, at ``place`` and as many points along its lane as ``runs`` says."""
    number = constant_of(value)
    if isinstance(number, int):
        return Linear(constant=number)
    induction = e.plan.inductions.get(value)
    if induction is not None:
        result = linear(e, induction.initial, place, runs)
        result.parts.append(_scalar(e, Lanes(e.moved[value], 0, wide=False)))
        return result
    op = value.op
    deep = e.plan.depth.get(value, 0) > STRETCH
    if op is not None and value.is_tensor and not deep and not e.is_stored(value):
        rule = _RULES.get(op.name)
        found = rule(e, op, place, runs) if rule is not None else None
        if found is not None:
            return found
    return _whole(e, value, place, runs)


def _whole(e: Values, value: Value, place: Place, runs: Runs) -> Linear:
    """A value that is no sum: one part, or a vector."""
    if place.lane is None or not value.is_tensor:
        return Linear(parts=[_scalar(e, e.lanes(value, place))])
    known = runs.axis(value)
    if known.contiguity[place.lane] >= runs.length:
        return Linear(parts=[_scalar(e, e.lanes(value, place.first()))], stride=1)
    if known.constancy[place.lane] >= runs.length:
        return Linear(parts=[_scalar(e, e.lanes(value, place.first()))])
    lanes = e.lanes(value, place)
    is_uniform = not lanes.wide and runs.length <= e.frame.width
    return Linear(parts=[_scalar(e, lanes)]) if is_uniform else Linear(vector=lanes)


def _scalar(e: Values, lanes: Lanes) -> Lanes:
    with e.frame.at(lanes.level) as b:
        return Lanes(b.convert_int(lanes.value, I64), lanes.level, wide=False)


# --- rules: None when the op does not take part in the sum ------------------------------------------------


def _range(e: Values, op: Op, place: Place, runs: Runs) -> Linear:
    (coordinate,) = place.coordinates
    constant = op.attributes["start"] + coordinate.offset
    parts = [e.frame.index(coordinate._replace(offset=0))] if coordinate.loop >= 0 else []
    return Linear(constant, parts, stride=int(place.lane == 0))


def _splat(e: Values, op: Op, place: Place, runs: Runs) -> Linear:
    return linear(e, op.operands[0], Place(()), runs)


def _moved(e: Values, op: Op, place: Place, runs: Runs) -> Linear:
    return linear(e, op.operands[0], e.operand_place(op, place), runs)


def _extended(e: Values, op: Op, place: Place, runs: Runs) -> Linear | None:
    return linear(e, op.operands[0], place, runs) if op.operands[0].dtype.bits >= 32 else None


def _sum(e: Values, op: Op, place: Place, runs: Runs) -> Linear | None:
    if op.result.dtype.bits < 32:
        return None
    a, b = (linear(e, v, place, runs) for v in op.operands)
    if a.vector is not None and b.vector is not None:
        return None
    return Linear(a.constant + b.constant, a.parts + b.parts, a.stride + b.stride, a.vector or b.vector)


def _difference(e: Values, op: Op, place: Place, runs: Runs) -> Linear | None:
    if op.result.dtype.bits < 32:
        return None
    a, b = (linear(e, v, place, runs) for v in op.operands)
    if b.vector is not None:
        return None
    parts = a.parts + [_times(e, p, -1) for p in b.parts]
    return Linear(a.constant - b.constant, parts, a.stride - b.stride, a.vector)


def _product(e: Values, op: Op, place: Place, runs: Runs) -> Linear | None:
    """A product with a scalar is distributed over the sum, unless lanes or unknown constants are in the way."""
    if op.result.dtype.bits < 32:
        return None
    a, b = (linear(e, v, place, runs) for v in op.operands)
    for sum_, factor in ((a, b), (b, a)):
        if factor.vector is not None or factor.stride or sum_.vector is not None:
            continue
        if not factor.parts:
            parts = [_times(e, p, factor.constant) for p in sum_.parts]
            return Linear(sum_.constant * factor.constant, parts, sum_.stride * factor.constant)
        if len(factor.parts) == 1 and not factor.constant and not sum_.stride:
            (scale,) = factor.parts
            parts = [_multiplied(e, p, scale) for p in sum_.parts]
            if sum_.constant:
                parts.append(_times(e, scale, sum_.constant))
            return Linear(0, parts)
    return None


def _times(e: Values, part: Lanes, factor: int) -> Lanes:
    if factor == 1:
        return part
    with e.frame.at(part.level) as b:
        return Lanes(b.same("arith.muli", part.value, b.i64(factor)), part.level, wide=False)


def _multiplied(e: Values, part: Lanes, scale: Lanes) -> Lanes:
    level = max(part.level, scale.level)
    with e.frame.at(level) as b:
        return Lanes(b.same("arith.muli", part.value, scale.value), level, wide=False)


_RULES = {
    "tt.make_range": _range,
    "tt.splat": _splat,
    "tt.expand_dims": _moved,
    "tt.broadcast": _moved,
    "tt.trans": _moved,
    "arith.extsi": _extended,
    "arith.addi": _sum,
    "arith.subi": _difference,
    "arith.muli": _product,
}
