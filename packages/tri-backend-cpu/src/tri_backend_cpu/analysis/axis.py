"""Runs in tensors of integers and pointers: where neighbours are consecutive, where they are equal.

This decides whether a vector of addresses is one vector load, and whether a vector of masks is one scalar.
Every number is a power of two.  Index arithmetic is taken not to wrap around within a run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tri_backend_cpu.analysis.induction import Induction
from tri_core.dialects import tt
from tri_core.ir.traits import DataMovement
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith
from tri_core.ttir import Op, Value, as_for, constant_of

__all__ = ["Axis", "AxisAnalysis", "is_nonnegative"]

#: divisibility of 0
_MAX = 1 << 40


@dataclass(frozen=True)
class Axis:
    """Facts of one value; the tuples have an entry per dimension.

    Along a dimension, indices fall into aligned groups of ``contiguity``, in each of which the value grows
    by 1, and into aligned groups of ``constancy``, in each of which it stays.  The values at the starts of
    the contiguous groups are multiples of ``divisibility``.
    """

    contiguity: tuple[int, ...]
    constancy: tuple[int, ...]
    divisibility: int = 1

    @property
    def every(self) -> int:
        """Common divisor of all elements."""
        return self.divisibility if all(c == 1 for c in self.contiguity) else 1


def _power(number: int) -> int:
    """The largest power of two that divides ``number``."""
    return min(number & -number, _MAX) if number else _MAX


class AxisAnalysis:
    """Answers for the values of one kernel, computed on demand and cached."""

    def __init__(
        self, divisibility: dict[Value, int], inductions: dict[Value, Induction], *, addresses: bool = False
    ) -> None:
        """``divisibility``: of the kernel's arguments; ``inductions``: by argument and by loop result.

        ``addresses``: scalars that an index is made of and that nothing is known of (arguments, loop
        counters) are taken not to be negative where the index is divided.
        """
        self.addresses = addresses
        self._divisibility = divisibility
        self._inductions = inductions
        self._known: dict[Value, Axis] = {}

    def __call__(self, value: Value) -> Axis:
        """The facts of ``value``."""
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = self._compute(value)
        return found

    def may_divide(self, op: Op) -> bool:
        """True if the quotients and remainders of ``op`` are known to round down."""
        (dividend,) = _dividend(op)
        return isa(op, arith.DivUIOp, arith.RemUIOp) or is_nonnegative(dividend, unknown=self.addresses)

    def _compute(self, value: Value) -> Axis:
        if value.dtype.is_float:
            return _unknown(value)
        induction = self._inductions.get(value)
        if induction is not None:
            return self._moved(induction)
        if value.op is None:
            return self._argument(value)
        rule = _RULES.get(value.op.name)
        return _hinted(value.op, rule(value.op, self) if rule is not None else _unknown(value))

    def _moved(self, induction: Induction) -> Axis:
        start = self(induction.initial)
        divisibility = start.divisibility
        for step in induction.steps:
            own = _power(step.amount) if isinstance(step.amount, int) else self(step.amount).divisibility
            divisibility = min(divisibility, own)
        return Axis(start.contiguity, start.constancy, divisibility)

    def _argument(self, value: Value) -> Axis:
        if value in self._divisibility:
            return Axis((), (), _power(self._divisibility[value]))
        loop = as_for(value.block.parent) if value.block else None
        if loop is not None and value is loop.induction_variable:
            lower, _, step = loop.bounds
            return Axis((), (), min(self(lower).divisibility, self(step).divisibility))
        return _unknown(value)


def is_nonnegative(value: Value, *, unknown: bool = False) -> bool:
    """True if ``value`` is known to be non-negative, assuming index arithmetic does not wrap.

    ``unknown``: the answer for scalars that no op of the kernel computes.
    """
    number = constant_of(value)
    if number is not None:
        return bool(number >= 0)
    op = value.op
    if op is None or isa(op, tt.LoadOp):
        return unknown and not value.is_tensor
    rule = _DECISIVE.get(op.name, _every if DataMovement.declared_by(op.name) else _unknown_sign)
    decisive = rule(op)
    return decisive is not None and all(is_nonnegative(v, unknown=unknown) for v in decisive)


#: integers of fewer bits are data: their arithmetic wraps
_INDEX_BITS = 32


def _never_negative(op: Op) -> Sequence[Value]:
    return ()


def _unknown_sign(op: Op) -> None:
    return None


def _every(op: Op) -> Sequence[Value]:
    return op.operands


def _dividend(op: Op) -> Sequence[Value]:
    return op.operands[:1]


def _every_index(op: Op) -> Sequence[Value] | None:
    return op.operands if op.result.dtype.bits >= _INDEX_BITS else None


#: by op: the operands that must not be negative for the result not to be; None where that is not enough
_DECISIVE: dict[str, Callable[[Op], Sequence[Value] | None]] = {
    "tt.get_program_id": _never_negative,
    "tt.get_num_programs": _never_negative,
    "tt.make_range": _never_negative,
    "arith.extui": _never_negative,
    "arith.addi": _every_index,
    "arith.muli": _every_index,
    "arith.divsi": _every,
    "arith.minsi": _every,
    "arith.extsi": _every,
    "arith.remsi": _dividend,
}


def _unknown(value: Value) -> Axis:
    ones = (1,) * len(value.shape)
    return Axis(ones, ones)


def _hinted(op: Op, axis: Axis) -> Axis:
    """``axis`` with what the kernel's author says of the result (``tl.multiple_of`` and its like)."""
    if not any(name in op.attributes for name in _HINTS):
        return axis
    rank = len(axis.contiguity)
    contiguity = map(max, axis.contiguity, _hint(op, _CONTIGUITY, rank))
    constancy = map(max, axis.constancy, _hint(op, _CONSTANCY, rank))
    divisibility = min(_hint(op, _DIVISIBILITY, max(rank, 1)))
    return Axis(tuple(contiguity), tuple(constancy), max(axis.divisibility, divisibility))


#: attributes, of any op
_CONTIGUITY = "tt.contiguity"
_CONSTANCY = "tt.constancy"
_DIVISIBILITY = "tt.divisibility"
_HINTS = (_CONTIGUITY, _CONSTANCY, _DIVISIBILITY)


def _hint(op: Op, name: str, rank: int) -> list[int]:
    """One power of two per dimension; 1 where nothing is said."""
    given = op.attributes.get(name, 1)
    numbers = list(given) if isinstance(given, list) else [int(given)] * rank
    return [_power(n) for n in numbers]


def _constant(op: Op, of: AxisAnalysis) -> Axis:
    number, shape = op.attributes["value"], op.result.shape
    if isinstance(number, list):
        return _unknown(op.result)
    return Axis((1,) * len(shape), shape, _power(int(number)))


def _range(op: Op, of: AxisAnalysis) -> Axis:
    return Axis(op.result.shape, (1,), _power(op.attributes["start"]))


def _splat(op: Op, of: AxisAnalysis) -> Axis:
    shape = op.result.shape
    return Axis((1,) * len(shape), shape, of(op.operand("src")).divisibility)


def _sum(op: Op, of: AxisAnalysis) -> Axis:
    a, b = (of(v) for v in op.operands)
    return _added(a, b, [min(k, c) for k, c in zip(a.constancy, b.contiguity, strict=True)])


def _difference(op: Op, of: AxisAnalysis) -> Axis:
    a, b = (of(v) for v in op.operands)
    return _added(a, b, [1] * len(a.constancy))


def _added(a: Axis, b: Axis, backward: Sequence[int]) -> Axis:
    """Facts of ``a`` with ``b`` added or subtracted; ``backward``: the runs where ``b`` grows and ``a`` stays."""
    forward = [min(c, k) for c, k in zip(a.contiguity, b.constancy, strict=True)]
    contiguity = tuple(map(max, forward, backward))
    constancy = tuple(map(min, a.constancy, b.constancy))
    divisibility = min(_at(a, contiguity), _at(b, contiguity))
    return Axis(contiguity, constancy, divisibility)


def _at(axis: Axis, groups: tuple[int, ...]) -> int:
    """Common divisor of the elements at the starts of ``groups``."""
    result = axis.divisibility
    for own, group in zip(axis.contiguity, groups, strict=True):
        if own > 1 and group < own:
            result = min(result, group)
    return result


def _at_starts(axis: Axis, dimension: int) -> int:
    """Common divisor of the elements at the starts of groups along ``dimension``, at any position along the
    others.
    """
    groups = (axis.contiguity[d] if d == dimension else 1 for d in range(len(axis.contiguity)))
    return _at(axis, tuple(groups))


def _product(op: Op, of: AxisAnalysis) -> Axis:
    left, right = op.operands
    a, b = of(left), of(right)
    for value, other in ((a, right), (b, left)):
        if constant_of(other) == 1:
            return value
    constancy = tuple(map(min, a.constancy, b.constancy))
    divisibility = min(a.every * b.every, _MAX)
    return Axis((1,) * len(constancy), constancy, divisibility)


def _quotient(op: Op, of: AxisAnalysis) -> Axis:
    """Within an aligned run of g numbers, g dividing the divisor, the quotient stays; below zero it may not."""
    a, b = (of(v) for v in op.operands)
    if not of.may_divide(op):
        return _both_constant(op, of)
    constancy = tuple(
        max(min(ka, kb), min(ca, _at_starts(a, d), b.every, kb))
        for d, (ca, ka, kb) in enumerate(zip(a.contiguity, a.constancy, b.constancy, strict=True))
    )
    return Axis((1,) * len(constancy), constancy)


def _remainder(op: Op, of: AxisAnalysis) -> Axis:
    """Within an aligned run of g numbers, g dividing the divisor, the remainder grows by 1; below zero it may not."""
    if not of.may_divide(op):
        return _both_constant(op, of)
    a, b = (of(v) for v in op.operands)
    contiguity = tuple(
        min(ca, _at_starts(a, d), b.every, kb)
        for d, (ca, kb) in enumerate(zip(a.contiguity, b.constancy, strict=True))
    )
    constancy = tuple(map(min, a.constancy, b.constancy))
    return Axis(contiguity, constancy, min(_at(a, contiguity), b.every))


def _compare(op: Op, of: AxisAnalysis) -> Axis:
    """An aligned run of g numbers is on one side of any multiple of g, for ``<`` and ``>=``."""
    a, b = (of(v) for v in op.operands)
    constancy = list(map(min, a.constancy, b.constancy))
    predicate = op.attributes["predicate"]
    for run, limit, codes in ((a, b, (2, 5, 6, 9)), (b, a, (3, 4, 7, 8))):
        if (
            predicate in codes
        ):  # a < b and a >= b with a run on the left; a > b and a <= b with one on the right
            for d, (c, k) in enumerate(zip(run.contiguity, limit.constancy, strict=True)):
                constancy[d] = max(constancy[d], min(c, _at_starts(run, d), limit.every, k))
    return Axis((1,) * len(constancy), tuple(constancy))


def _both_constant(op: Op, of: AxisAnalysis) -> Axis:
    axes = [of(v) for v in op.operands if v.is_tensor]
    constancy = op.result.shape
    for axis in axes:
        constancy = tuple(map(min, constancy, axis.constancy))
    return Axis((1,) * len(constancy), constancy)


def _extend(op: Op, of: AxisAnalysis) -> Axis:
    """A narrow integer wraps, but not within an aligned run of at most half as many numbers as it has."""
    source = op.source
    axis, bits = of(source), source.dtype.bits
    if bits >= _INDEX_BITS:
        return axis
    half = 1 << (bits - 1)
    contiguity = tuple(min(c, _at_starts(axis, d), half) for d, c in enumerate(axis.contiguity))
    return Axis(contiguity, axis.constancy, _at(axis, contiguity))


def _truncate(op: Op, of: AxisAnalysis) -> Axis:
    axis = of(op.source)
    return Axis(axis.contiguity, axis.constancy, min(axis.divisibility, 1 << op.result.dtype.bits))


def _expand(op: Op, of: AxisAnalysis) -> Axis:
    axis, at = of(op.operand("src")), op.attributes["axis"]
    return Axis(
        (*axis.contiguity[:at], 1, *axis.contiguity[at:]),
        (*axis.constancy[:at], 1, *axis.constancy[at:]),
        axis.divisibility,
    )


def _broadcast(op: Op, of: AxisAnalysis) -> Axis:
    source, target = op.operand("src"), op.result.shape
    axis = of(source)
    constancy = tuple(
        k if old == new else new for k, old, new in zip(axis.constancy, source.shape, target, strict=True)
    )
    return Axis(axis.contiguity, constancy, axis.divisibility)


def _transpose(op: Op, of: AxisAnalysis) -> Axis:
    axis, order = of(op.operand("src")), op.attributes["order"]
    return Axis(
        tuple(axis.contiguity[d] for d in order), tuple(axis.constancy[d] for d in order), axis.divisibility
    )


_RULES: dict[str, Callable[[Op, AxisAnalysis], Axis]] = {
    "arith.constant": _constant,
    "tt.make_range": _range,
    "tt.splat": _splat,
    "arith.addi": _sum,
    "arith.subi": _difference,
    "tt.addptr": _sum,
    "arith.muli": _product,
    "arith.divsi": _quotient,
    "arith.divui": _quotient,
    "arith.remsi": _remainder,
    "arith.remui": _remainder,
    "arith.cmpi": _compare,
    "arith.andi": _both_constant,
    "arith.ori": _both_constant,
    "arith.xori": _both_constant,
    "arith.select": _both_constant,
    "arith.minsi": _both_constant,
    "arith.maxsi": _both_constant,
    "arith.extsi": _extend,
    "arith.extui": _extend,
    "arith.trunci": _truncate,
    "tt.expand_dims": _expand,
    "tt.broadcast": _broadcast,
    "tt.trans": _transpose,
}
