"""Reading tensors of integers, pointers and conditions as sums over scalars and ranges.

An index tensor is ``offset + sum(coefficient_d * range_d)``: range_d counts along dimension d.  Values that loops carry
are followed when each iteration adds the same to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from tri_core.dialects.tt import AddPtrOp, BroadcastOp, ExpandDimsOp, FuncOp, PointerType, SplatOp
from tri_core.ir.regions import For
from tri_core.ir.traits import source_of
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, builtin, ir
from tri_core.passes.rewriting import producer
from tri_core.passes.tiles.polynomial import MOST_TERMS, Polynomial, Trip

__all__ = ["Condition", "Index", "Pointers", "Reader", "ancestors", "is_inside"]

_ZERO = Polynomial()

#: ``arith.cmpi`` predicates that are read
_SLT, _SLE, _SGT, _SGE = 2, 3, 4, 5


@dataclass(frozen=True)
class Index:
    """``offset + sum(coefficients[d] * range_d)``; with ``wraps[d] = limit`` the part of dimension d starts again
    from its beginning where ``range_d >= limit``."""

    offset: Polynomial = _ZERO
    coefficients: tuple[tuple[int, Polynomial], ...] = ()
    wraps: tuple[tuple[int, Polynomial], ...] = ()

    def plus(self, other: Index, sign: int = 1) -> Index | None:
        """The sum (or difference); None where both go along one wrapped dimension."""
        mine, theirs = dict(self.coefficients), dict(other.coefficients)
        wrapped = {d for d, _ in (*self.wraps, *other.wraps)}
        if wrapped & set(mine) & set(theirs):
            return None
        scale = Polynomial.constant(sign)
        found = {d: mine.get(d, _ZERO) + theirs.get(d, _ZERO) * scale for d in {*mine, *theirs}}
        kept = tuple(sorted(((d, c) for d, c in found.items() if c.terms), key=lambda item: item[0]))
        return Index(self.offset + other.offset * scale, kept, self.wraps + other.wraps)

    def times(self, factor: Polynomial) -> Index:
        """Every part times a scalar."""
        parts = tuple((d, c * factor) for d, c in self.coefficients)
        return Index(self.offset * factor, parts, self.wraps)

    def moved(self, where: Callable[[int], int]) -> Index:
        """Dimensions renumbered."""
        return Index(
            self.offset,
            tuple((where(d), c) for d, c in self.coefficients),
            tuple((where(d), limit) for d, limit in self.wraps),
        )


@dataclass(frozen=True)
class Pointers:
    """``base``, an argument of the function, plus ``index`` elements."""

    base: ir.Value
    index: Index


@dataclass(frozen=True)
class Condition:
    """``range_dim < limit``, or with ``lower`` ``range_dim >= limit``."""

    dim: int
    limit: Polynomial
    lower: bool = False

    def moved(self, where: Callable[[int], int]) -> Condition:
        """Its dimension renumbered."""
        return Condition(where(self.dim), self.limit, self.lower)


@dataclass
class Reader:
    """Reads the values of one function; what is no such sum is None."""

    _indices: dict[ir.Value, Index | None] = field(default_factory=dict)
    _pointers: dict[ir.Value, Pointers | None] = field(default_factory=dict)

    # --- integers -----------------------------------------------------------------------------------------

    def index(self, value: ir.Value) -> Index | None:
        """An integer or a tensor of integers."""
        if value not in self._indices:
            self._indices[value] = None  # a value that depends on itself in another way is not read
            self._indices[value] = self._index(value)
        return self._indices[value]

    def scalar(self, value: ir.Value) -> Polynomial:
        """A scalar; one that is no sum or product is a symbol."""
        found = self.index(value)
        if found is None or found.coefficients or len(found.offset.terms) > MOST_TERMS:
            return Polynomial.symbol(value)
        return found.offset

    def _index(self, value: ir.Value) -> Index | None:
        op = producer(value)
        is_tensor = isinstance(value.type, ir.RankedTensorType)
        if op is None:
            return self._argument(value, is_tensor)
        rule = _RULES.get(op.name)
        found = rule(self, op) if rule is not None else None
        if found is None and not is_tensor:
            return Index(Polynomial.symbol(value))
        return found

    def _argument(self, value: ir.Value, is_tensor: bool) -> Index | None:
        loop = _loop_of(value)
        if loop is None:
            return None if is_tensor else Index(Polynomial.symbol(value))
        number = ir.BlockArgument(value).arg_number
        trip = Polynomial.symbol(Trip(loop))
        if number == 0:
            return Index(self.scalar(For(loop).lower) + trip * self.scalar(For(loop).step))
        step = self._step(value, loop, number)
        start = self.index(loop.operands[2 + number]) if step is not None else None
        if start is None or step is None:
            return None if is_tensor else Index(Polynomial.symbol(value))
        return start.plus(Index(step * trip))

    def _step(self, value: ir.Value, loop: ir.Operation, number: int) -> Polynomial | None:
        """Increment per iteration of a value that ``loop`` carries; None if it is not one scalar."""
        body = loop.regions[0].blocks[0]
        coming = list(body.operations)[-1].operands[number - 1]
        total = _ZERO
        for _ in range(16):
            if coming == value:
                return total
            op = producer(coming)
            if op is None or not isa(op, arith.AddIOp, AddPtrOp):
                return None
            before, by = op.operands
            added = self.index(by)
            if added is None or added.coefficients or not _is_outside(added.offset, loop):
                return None
            total, coming = total + added.offset, before
        return None

    # --- pointers -----------------------------------------------------------------------------------------

    def pointers(self, value: ir.Value) -> Pointers | None:
        """A pointer or a tensor of pointers."""
        if value not in self._pointers:
            self._pointers[value] = None
            self._pointers[value] = self._read_pointers(value)
        return self._pointers[value]

    def _read_pointers(self, value: ir.Value) -> Pointers | None:
        op = producer(value)
        if op is None:
            return self._pointer_argument(value)
        if isa(op, SplatOp):
            return self.pointers(source_of(op))
        if isa(op, BroadcastOp, ExpandDimsOp):
            inner = self.pointers(source_of(op))
            return inner and Pointers(inner.base, inner.index.moved(_moves(op)))
        if not isa(op, AddPtrOp):
            return None
        inner, added = self.pointers(cast(op, AddPtrOp).ptr), self.index(cast(op, AddPtrOp).offset)
        total = inner.index.plus(added) if inner is not None and added is not None else None
        return Pointers(inner.base, total) if inner is not None and total is not None else None

    def _pointer_argument(self, value: ir.Value) -> Pointers | None:
        loop = _loop_of(value)
        if loop is None:
            return Pointers(value, Index()) if isinstance(value.type, PointerType) else None
        number = ir.BlockArgument(value).arg_number
        start = self.pointers(loop.operands[2 + number])
        step = self._step(value, loop, number) if start is not None else None
        if start is None or step is None:
            return None
        total = start.index.plus(Index(step * Polynomial.symbol(Trip(loop))))
        return None if total is None else Pointers(start.base, total)

    # --- conditions ---------------------------------------------------------------------------------------

    def conditions(self, mask: ir.Value) -> tuple[Condition, ...] | None:
        """The conditions whose conjunction ``mask`` is; None where it is something else."""
        op = producer(mask)
        if op is None:
            return None
        if isa(op, arith.AndIOp):
            left, right = (self.conditions(v) for v in op.operands)
            return None if left is None or right is None else left + right
        if isa(op, BroadcastOp, ExpandDimsOp):
            inner = self.conditions(source_of(op))
            return None if inner is None else tuple(c.moved(_moves(op)) for c in inner)
        if isa(op, arith.ConstantOp):
            return () if _splat(op) == 1 else None
        return self._comparison(op) if isa(op, arith.CmpIOp) else None

    def some_conditions(self, mask: ir.Value) -> tuple[Condition, ...]:
        """Conditions that hold wherever ``mask`` does: those of its conjunction that can be read."""
        op = producer(mask)
        if op is not None and isa(op, arith.AndIOp):
            return tuple(c for v in op.operands for c in self.some_conditions(v))
        if op is not None and isa(op, BroadcastOp, ExpandDimsOp):
            return tuple(c.moved(_moves(op)) for c in self.some_conditions(source_of(op)))
        return self.conditions(mask) or ()

    def _comparison(self, op: ir.Operation) -> tuple[Condition, ...] | None:
        """``a - b < 0`` and its like, with one range of coefficient 1 or -1."""
        kind = ir.IntegerAttr(op.attributes["predicate"]).value
        left, right = (self.index(v) for v in op.operands)
        if left is None or right is None or kind not in (_SLT, _SLE, _SGT, _SGE):
            return None
        if kind in (_SGT, _SGE):  # a > b is b < a
            left, right = right, left
        difference = left.plus(right, -1)
        if difference is None or difference.wraps or len(difference.coefficients) != 1:
            return None
        ((dim, coefficient),) = difference.coefficients
        # or equal: one more
        rest = difference.offset - Polynomial.constant(int(kind in (_SLE, _SGE)))
        if coefficient.value == 1:  # range + rest < 0
            return (Condition(dim, -rest),)
        if coefficient.value == -1:  # rest - range < 0: range >= rest + 1
            return (Condition(dim, rest + Polynomial.constant(1), lower=True),)
        return None


# --- rules ------------------------------------------------------------------------------------------------


def _constant(_: Reader, op: ir.Operation) -> Index | None:
    value = _splat(op)
    return None if value is None else Index(Polynomial.constant(value))


def _splat(op: ir.Operation) -> int | None:
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        if not attribute.is_splat:
            return None
        attribute = attribute.get_splat_value().maybe_downcast()
    if not isinstance(attribute, ir.IntegerAttr):
        return None
    return abs(attribute.value) if attribute.type.width == 1 else int(attribute.value)


def _range(_: Reader, op: ir.Operation) -> Index:
    start = ir.IntegerAttr(op.attributes["start"]).value
    return Index(Polynomial.constant(start), ((0, Polynomial.constant(1)),))


def _same(reader: Reader, op: ir.Operation) -> Index | None:
    return reader.index(source_of(op))


def _moved(reader: Reader, op: ir.Operation) -> Index | None:
    inner = reader.index(source_of(op))
    return None if inner is None else inner.moved(_moves(op))


def _moves(op: ir.Operation) -> Callable[[int], int]:
    if isa(op, BroadcastOp):
        return lambda d: d
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    return lambda d: d + (d >= axis)


def _sum(sign: int) -> Callable[[Reader, ir.Operation], Index | None]:
    def rule(reader: Reader, op: ir.Operation) -> Index | None:
        left, right = (reader.index(v) for v in op.operands)
        return None if left is None or right is None else left.plus(right, sign)

    return rule


def _times(reader: Reader, op: ir.Operation) -> Index | None:
    left, right = (reader.index(v) for v in op.operands)
    if left is None or right is None or len(left.offset.terms) * len(right.offset.terms) > MOST_TERMS:
        return None
    if not right.coefficients:
        return left.times(right.offset)
    return None if left.coefficients else right.times(left.offset)


def _divided(reader: Reader, op: ir.Operation) -> Index | None:
    """``n * x / n``: x."""
    left, right = (reader.index(v) for v in op.operands)
    divisor = None if right is None or right.coefficients else right.offset.value
    if left is None or left.coefficients or not divisor:
        return None
    quotient, rest = left.offset.divided(Polynomial.constant(divisor))
    return None if rest.terms else Index(quotient)


def _wrapped(reader: Reader, op: ir.Operation) -> Index | None:
    """``(x + range) % size``: the range with a limit."""
    left, right = (reader.index(v) for v in op.operands)
    if left is None or right is None or right.coefficients or left.wraps or len(left.coefficients) != 1:
        return None
    ((dim, coefficient),) = left.coefficients
    if coefficient.value != 1:
        return None
    return Index(left.offset, left.coefficients, ((dim, right.offset - left.offset),))


_RULES: Mapping[str, Callable[[Reader, ir.Operation], Index | None]] = {
    "arith.constant": _constant,
    "tt.make_range": _range,
    "tt.splat": _same,
    "arith.extsi": _same,
    "tt.broadcast": _moved,
    "tt.expand_dims": _moved,
    "arith.addi": _sum(1),
    "arith.subi": _sum(-1),
    "arith.muli": _times,
    "arith.divsi": _divided,
    "arith.remsi": _wrapped,
}


def _loop_of(argument: ir.Value) -> ir.Operation | None:
    """The counted loop whose body has ``argument``."""
    owner = argument.owner
    parent = owner.owner.operation if isinstance(owner, ir.Block) else None
    return parent if parent is not None and isa(parent, For) else None


def _is_outside(value: Polynomial, loop: ir.Operation) -> bool:
    """True if no symbol of ``value`` changes in ``loop``."""
    return not any(is_inside(symbol, loop) for symbol in value.symbols())


def is_inside(symbol: ir.Value | Trip, loop: ir.Operation) -> bool:
    """True if ``symbol`` may change between iterations of ``loop``."""
    if isinstance(symbol, Trip):
        op: ir.Operation | None = symbol.loop
    else:
        owner = symbol.owner
        op = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
    chain = ancestors(op)
    return loop in chain


def ancestors(op: ir.Operation | None) -> Sequence[ir.Operation]:
    """``op`` and the ops around it within its function, inner ones first."""
    found = []
    while op is not None and not isa(op, FuncOp, builtin.ModuleOp):
        found.append(op)
        parent = op.parent
        op = None if parent is None else parent.operation
    return found
