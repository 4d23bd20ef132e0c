"""Transfer functions of axis information: a table of small rules by op name.

A rule gets the op and its operands' :class:`AxisInfo` and returns that of the result, or None for
nothing known.  The table is a target's: :data:`SHARED`, and what its backend adds in ``DefaultPolicy.axis_rules``.

Signed division, remainder and comparison follow the usual reading that index arithmetic does not go below
zero, unless the operand's least element is known to be negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd
from types import MappingProxyType
from typing import TypeVar

from tri_core.ir.traits import source_of
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_gpu_dialect.analysis.axis_value import BIG, AxisInfo, power_of_two_divisor
from tri_gpu_dialect.types import pointee_bytes, shape_of

__all__ = ["SHARED", "AxisRule", "AxisRules"]

AxisRule = Callable[[ir.Operation, Sequence[AxisInfo]], "AxisInfo | None"]

_RULES: dict[str, AxisRule] = {}

_R = TypeVar("_R", bound=AxisRule)


@dataclass(frozen=True, eq=False)
class AxisRules:
    """The rules of a target, by names of ops; an op without one makes results of which nothing is known."""

    by_name: Mapping[str, AxisRule]

    def with_rules(self, rules: Mapping[str, AxisRule]) -> AxisRules:
        """These rules and ``rules``, which go before them."""
        return AxisRules(MappingProxyType({**self.by_name, **rules}))


def _rule(*names: str) -> Callable[[_R], _R]:
    """Put the rule of the ops called ``names`` in the shared table."""

    def register(function: _R) -> _R:
        _RULES.update(dict.fromkeys(names, function))
        return function

    return register


#: the rules of the ops that all targets have
SHARED = AxisRules(MappingProxyType(_RULES))


def _dims(info: AxisInfo) -> range:
    return range(len(info.contiguity))


def _constant(value: int, op: ir.Operation) -> AxisInfo:
    return AxisInfo.constant(value, shape_of(op.results[0].type))


# --- sources --------------------------------------------------------------------------------------------


@_rule("arith.constant")
def _arith_constant(op: ir.Operation, _: Sequence[AxisInfo]) -> AxisInfo | None:
    attr = op.attributes["value"].maybe_downcast()
    if isinstance(attr, ir.DenseElementsAttr):
        if not attr.is_splat:
            return None
        attr = attr.get_splat_value().maybe_downcast()
    if isinstance(attr, (ir.IntegerAttr, ir.BoolAttr)):
        return _constant(int(attr.value), op)
    shape = shape_of(op.results[0].type)
    ones = (1,) * max(len(shape), 1)
    return AxisInfo(ones, ones, shape or (1,))


@_rule("tt.make_range")
def _make_range(op: ir.Operation, _: Sequence[AxisInfo]) -> AxisInfo:
    start, end = (ir.IntegerAttr(op.attributes[name]).value for name in ("start", "end"))
    return AxisInfo((power_of_two_divisor(end - start),), (power_of_two_divisor(start),), (1,), low=start)


@_rule("tt.get_program_id", "tt.get_num_programs", "ttg.get_grid_size", "ttg.next_tile")
def _program(_: ir.Operation, __: Sequence[AxisInfo]) -> AxisInfo:
    return AxisInfo.unknown(1)


# --- shapes ---------------------------------------------------------------------------------------------


@_rule("tt.splat")
def _splat(op: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    shape = shape_of(op.results[0].type)
    (scalar,) = operands
    rank = len(shape)
    return AxisInfo((1,) * rank, scalar.divisibility * rank, shape, scalar.value, scalar.low)


@_rule("tt.unsplat")
def _unsplat(_: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    (tensor,) = operands
    return AxisInfo((1,), (tensor.divisibility[0],), (1,), tensor.value, tensor.low)


@_rule("tt.expand_dims")
def _expand_dims(op: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    (a,) = operands
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    every = max(a.of_elements(d) for d in _dims(a))

    def insert(sizes: tuple[int, ...], value: int) -> tuple[int, ...]:
        return (*sizes[:axis], value, *sizes[axis:])

    return AxisInfo(
        insert(a.contiguity, 1), insert(a.divisibility, every), insert(a.constancy, 1), a.value, a.low
    )


@_rule("tt.broadcast")
def _broadcast(op: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    (a,) = operands
    small, large = shape_of(source_of(op).type), shape_of(op.results[0].type)
    grown = [s != n for s, n in zip(small, large, strict=True)]
    return AxisInfo(
        tuple(1 if g else c for g, c in zip(grown, a.contiguity, strict=True)),
        a.divisibility,
        tuple(n if g else c for g, n, c in zip(grown, large, a.constancy, strict=True)),
        a.value,
        a.low,
    )


@_rule("tt.trans")
def _trans(op: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    (a,) = operands
    order = [int(d) for d in op.attributes["order"].maybe_downcast()]
    contiguity, divisibility, constancy = (
        tuple(part[d] for d in order) for part in (a.contiguity, a.divisibility, a.constancy)
    )
    return AxisInfo(contiguity, divisibility, constancy, a.value, a.low)


@_rule(
    "arith.extsi",
    "arith.extui",
    "arith.index_cast",
    "arith.index_castui",
    "tt.bitcast",
    "tt.int_to_ptr",
    "tt.ptr_to_int",
    "ttg.convert_layout",
)
def _same(_: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    return operands[0]


@_rule("arith.trunci")
def _trunci(op: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    (a,) = operands
    # the value may wrap, which keeps runs (of addresses modulo 2**n) and powers of two
    return AxisInfo(a.contiguity, a.divisibility, a.constancy)


# --- sums -----------------------------------------------------------------------------------------------


def _added(a: AxisInfo, b: AxisInfo, op: ir.Operation, scale: int, sign: int) -> AxisInfo:
    """``a + sign * scale * b``, where a run of ``b`` counts in units of ``scale``."""
    if a.value is not None and b.value is not None:
        return _constant(a.value + sign * scale * b.value, op)
    contiguity, divisibility = [], []
    for d in _dims(a):
        run = gcd(a.contiguity[d], b.constancy[d])
        if sign > 0:
            run = max(run, gcd(a.constancy[d], b.contiguity[d]))
        contiguity.append(run)
        divisibility.append(gcd(a.at_runs(d, run), b.at_runs(d, run) * scale))
    other = b.low if sign > 0 else b.value
    low = None if a.low is None or other is None else a.low + sign * scale * other
    constancy = tuple(map(gcd, a.constancy, b.constancy))
    return AxisInfo(tuple(contiguity), tuple(min(d, BIG) for d in divisibility), constancy, low=low)


@_rule("arith.addi")
def _addi(op: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    return _added(operands[0], operands[1], op, 1, 1)


@_rule("arith.subi")
def _subi(op: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    return _added(operands[0], operands[1], op, 1, -1)


@_rule("tt.addptr")
def _addptr(op: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    pointer, offset = operands
    size = pointee_bytes(op.results[0].type)
    made = _added(pointer, offset, op, size, 1)
    # an address is not a number that a program knows
    return AxisInfo(made.contiguity, made.divisibility, made.constancy)


# --- products and quotients -----------------------------------------------------------------------------


def _scaled(a: AxisInfo, b: AxisInfo, op: ir.Operation) -> AxisInfo:
    if a.value is not None and b.value is not None:
        return _constant(a.value * b.value, op)
    if b.value == 1:
        return a
    if a.value == 1:
        return b
    ones = (1,) * a.rank
    divisibility = tuple(min(a.of_elements(d) * b.of_elements(d), BIG) for d in _dims(a))
    low = None
    if a.low is not None and b.value is not None and b.value >= 0:
        low = a.low * b.value
    return AxisInfo(ones, divisibility, tuple(map(gcd, a.constancy, b.constancy)), low=low)


@_rule("arith.muli")
def _muli(op: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    return _scaled(operands[0], operands[1], op)


@_rule("arith.shli")
def _shli(op: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    a, b = operands
    if b.value is None or not 0 <= b.value < 62:
        return AxisInfo((1,) * a.rank, (1,) * a.rank, tuple(map(gcd, a.constancy, b.constancy)))
    return _scaled(a, AxisInfo.constant(1 << b.value, b.constancy), op)


def _quotient(a: AxisInfo, b: AxisInfo) -> AxisInfo:
    """Elements of a run fall into one quotient as long as they start at a multiple of the divisor's part."""
    if b.value == 1:
        return a
    contiguity, divisibility, constancy = [], [], []
    for d in _dims(a):
        equal = gcd(a.constancy[d], b.constancy[d])
        if _may_run(a, b, d):
            equal = max(equal, gcd(a.contiguity[d], gcd(a.divisibility[d], b.of_elements(d))))
        contiguity.append(1)
        constancy.append(equal)
        exact = b.value is not None and b.value > 0 and power_of_two_divisor(b.value) == b.value
        divisibility.append(max(a.of_elements(d) // b.value, 1) if exact and b.value else 1)
    return AxisInfo(tuple(contiguity), tuple(divisibility), tuple(constancy))


def _may_run(a: AxisInfo, b: AxisInfo, dim: int) -> bool:
    """True if runs of ``a`` along ``dim`` have one divisor each, and go up from zero or above."""
    below = a.low is not None and a.low < 0
    return not below and b.constancy[dim] >= a.contiguity[dim] > 1


@_rule("arith.divsi", "arith.divui", "arith.floordivsi")
def _div(op: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    a, b = operands
    if a.value is not None and b.value and a.value >= 0 and b.value > 0:
        return _constant(a.value // b.value, op)
    made = _quotient(a, b)
    if a.low is not None and a.low >= 0 and b.value is not None and b.value > 0:
        return AxisInfo(made.contiguity, made.divisibility, made.constancy, low=a.low // b.value)
    return made


@_rule("arith.shrsi", "arith.shrui")
def _shr(op: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    a, b = operands
    if b.value is None or not 0 <= b.value < 62:
        return AxisInfo((1,) * a.rank, (1,) * a.rank, tuple(map(gcd, a.constancy, b.constancy)))
    return _div(op, (a, AxisInfo.constant(1 << b.value, b.constancy)))


@_rule("arith.remsi", "arith.remui")
def _rem(op: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    a, b = operands
    if a.value is not None and b.value and a.value >= 0 and b.value > 0:
        return _constant(a.value % b.value, op)
    contiguity, divisibility = [], []
    for d in _dims(a):
        run = 1
        if _may_run(a, b, d):
            run = gcd(a.contiguity[d], gcd(a.divisibility[d], b.of_elements(d)))
        contiguity.append(run)
        divisibility.append(gcd(a.at_runs(d, run), b.of_elements(d)))
    constancy = tuple(map(gcd, a.constancy, b.constancy))
    return AxisInfo(tuple(contiguity), tuple(divisibility), constancy)


# --- bits, choices, comparisons -------------------------------------------------------------------------


@_rule("arith.andi")
def _andi(op: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    a, b = operands
    if a.value is not None and b.value is not None:
        return _constant(a.value & b.value, op)
    if a.value is not None:
        a, b = b, a
    if b.value is not None and b.value > 0 and b.value + 1 == power_of_two_divisor(b.value + 1):
        # x & (2**n - 1) is an unsigned remainder, of any x
        modulus = AxisInfo.constant(b.value + 1, b.constancy)
        return _rem(op, (AxisInfo(a.contiguity, a.divisibility, a.constancy), modulus))
    divisibility = tuple(max(a.of_elements(d), b.of_elements(d)) for d in _dims(a))
    return AxisInfo((1,) * a.rank, divisibility, tuple(map(gcd, a.constancy, b.constancy)))


@_rule("arith.ori", "arith.xori")
def _bits(_: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    a, b = operands
    divisibility = tuple(gcd(a.of_elements(d), b.of_elements(d)) for d in _dims(a))
    return AxisInfo((1,) * a.rank, divisibility, tuple(map(gcd, a.constancy, b.constancy)))


@_rule("arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui")
def _minmax(op: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    a, b = operands
    if a.value is not None and b.value is not None:
        return _constant((max if isa(op, arith.MaxSIOp, arith.MaxUIOp) else min)(a.value, b.value), op)
    return _bits(op, operands)


@_rule("arith.select")
def _select(op: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    condition, a, b = operands
    joined = a.join(b)
    if not shape_of(cast(op, arith.SelectOp).condition.type):
        return joined
    # a run may switch where the condition does
    runs = tuple(map(gcd, joined.contiguity, condition.constancy))
    divisibility = tuple(joined.at_runs(d, run) for d, run in enumerate(runs))
    constancy = tuple(map(gcd, joined.constancy, condition.constancy))
    return AxisInfo(runs, divisibility, constancy, joined.value, joined.low)


#: predicates by number: those true of the smaller side's whole run when true of its first element, if the
#: run is the left operand (x < n) or the right one (n > x)
_RUN_LEFT = frozenset({2, 5, 6, 9})  # slt, sge, ult, uge
_RUN_RIGHT = frozenset({3, 4, 7, 8})  # sle, sgt, ule, ugt


@_rule("arith.cmpi")
def _cmpi(op: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    a, b = operands
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    constancy = []
    for d in _dims(a):
        equal = gcd(a.constancy[d], b.constancy[d])
        # an aligned run compared with a multiple of its length lies on one side
        if predicate in _RUN_LEFT:
            equal = max(equal, _one_side(a, b, d))
        elif predicate in _RUN_RIGHT:
            equal = max(equal, _one_side(b, a, d))
        constancy.append(equal)
    ones = (1,) * a.rank
    return AxisInfo(ones, ones, tuple(constancy))


def _one_side(run: AxisInfo, bound: AxisInfo, dim: int) -> int:
    length = gcd(run.contiguity[dim], bound.constancy[dim])
    return gcd(length, gcd(run.divisibility[dim], bound.of_elements(dim)))


@_rule("tt.load")
def _load(_: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    # equal pointers with equal masks read equal values
    constancy = operands[0].constancy
    for other in operands[1:]:
        constancy = tuple(map(gcd, constancy, other.constancy))
    ones = (1,) * operands[0].rank
    return AxisInfo(ones, ones, constancy)


@_rule(
    "arith.cmpf", "arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.extf", "arith.truncf",
    "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui",
)  # fmt: skip
def _elementwise(_: ir.Operation, operands: Sequence[AxisInfo]) -> AxisInfo:
    constancy = operands[0].constancy
    for other in operands[1:]:
        constancy = tuple(map(gcd, constancy, other.constancy))
    ones = (1,) * operands[0].rank
    return AxisInfo(ones, ones, constancy)
