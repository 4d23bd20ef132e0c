"""A load whose pointers are broadcast reads each of them once, and its values are broadcast.

A kernel that adds a row of biases to a tile may load the row with pointers and a mask of the tile's shape.  What of the mask
varies in the pointers' own dimensions is the smaller load's mask; what varies in the others alone becomes the question
whether it is true anywhere, which comparisons of consecutive integers with a bound answer by their ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tri_core.dialects.tt import BroadcastOp, MakeRangeOp, SplatOp
from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.traits import replicates, source_of
from tri_core.ir.views import cast, defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_core.passes.rewriting import constant, make, producer
from tri_core.passes.rules.table import REORDER
from tri_core.passes.rules.uniform import is_uniform, scalar, uniform_tensor, with_shape

__all__: list[str] = []

_Values = Sequence[ir.Value] | None


@REORDER.rule("tt.load", fed_by=["tt.broadcast", "tt.splat"])
def _of_broadcast_pointers(op: ir.Operation) -> _Values:
    pointer, *rest = op.operands
    grown = defining_op(pointer, BroadcastOp, SplatOp)
    # a load through one pointer to a whole tile has no tensor of pointers
    if grown is None or reads_again(op) or not isinstance(op.result.type, ir.RankedTensorType):
        return None
    small = _Small(op, grown.src.type)
    mask = small.mask(rest[0]) if rest else _Mask()
    if mask is None:
        return None
    chosen = len(rest) == 2 and (mask.asks or not small.follows(rest[1]))
    other = [small.value(rest[1])] if len(rest) == 2 and not chosen else []
    loaded = small.load([grown.src, *mask.values, *other])
    return [make(op, "arith.select", op.result.type, [rest[0], loaded, rest[1]]) if chosen else loaded]


@dataclass(frozen=True)
class _Mask:
    """The mask of the smaller load, if it has one; whether it ``asks`` if anything is true, and so says less than the whole one."""

    values: tuple[ir.Value, ...] = ()
    asks: bool = False


@dataclass(frozen=True)
class _Small:
    """The load in place of ``op``: of pointers of type ``pointers``, a tensor or a scalar."""

    op: ir.Operation
    pointers: ir.Type

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the pointers; None for a scalar."""
        return tuple(self.pointers.shape) if isinstance(self.pointers, ir.RankedTensorType) else None

    def mask(self, mask: ir.Value) -> _Mask | None:
        """``mask`` for each of the pointers; None if a part of it differs for one pointer, and cannot be asked as a whole."""
        parts = list(_conjuncts(mask))
        differing = [value for value in parts if not self.follows(value)]
        if len(differing) > 1:
            return None  # that two are true somewhere does not mean that both are in one place
        values = [once for value in differing if (once := self._anywhere(value)) is not None]
        if len(values) < len(differing):
            return None
        values += [self.value(value) for value in parts if value not in differing]
        found = values[0]
        for value in values[1:]:
            found = make(self.op, "arith.andi", found.type, [found, value])
        return _Mask((found,), asks=bool(differing))

    def follows(self, value: ir.Value) -> bool:
        """True if ``value``, of the load's shape, is the same wherever the pointers are."""
        if is_uniform(value):
            return True
        grown = defining_op(value, BroadcastOp)
        if grown is None or self.shape is None:
            return False
        sizes = grown.src.type.shape
        return all(size == 1 or own != 1 for size, own in zip(sizes, self.shape, strict=True))

    def value(self, value: ir.Value) -> ir.Value:
        """``value``, which :meth:`follows` the pointers, for each of them."""
        if self.shape is None:
            return scalar(value, self.op)
        type_ = with_shape(value.type, self.shape)
        if is_uniform(value):
            return uniform_tensor(value, type_, self.op)
        source = cast(value.owner.operation, BroadcastOp).src
        return source if source.type == type_ else make(self.op, "tt.broadcast", type_, [source])

    def _anywhere(self, mask: ir.Value) -> ir.Value | None:
        """Condition (i1) that ``mask`` is true in any place, for each of the pointers; None if it varies with
        the pointers, or its ends do not decide.
        """
        grown = defining_op(mask, BroadcastOp)
        source = grown.src if grown is not None else mask
        own = self.shape or (1,) * len(source.type.shape)
        if any(size != 1 and size == mine for size, mine in zip(source.type.shape, own, strict=True)):
            return None
        once = _true_in_any(source, self.op)
        if once is None or self.shape is None:
            return once
        return make(self.op, "tt.splat", ir.RankedTensorType.get(list(self.shape), once.type), [once])

    def load(self, operands: Sequence[ir.Value]) -> ir.Value:
        """The load, grown to the shape of the one that was there."""
        type_ = self.op.result.type
        small = type_.element_type if self.shape is None else with_shape(type_, self.shape)
        given = [int(i < len(operands)) for i in range(3)]
        attributes = {name: self.op.attributes[name] for name in self.op.attributes}
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(given)
        loaded = make(self.op, "tt.load", small, operands, attributes)
        return make(self.op, "tt.splat" if self.shape is None else "tt.broadcast", type_, [loaded])


def _conjuncts(mask: ir.Value) -> Iterator[ir.Value]:
    op = defining_op(mask, arith.AndIOp)
    if op is None:
        yield mask
        return
    for operand in op.operands:
        yield from _conjuncts(operand)


_SLT, _SLE, _SGT, _SGE = 2, 3, 4, 5
#: of comparisons with a bound on the right: whether the first of ascending integers decides that any is true, or the last
_BY_FIRST = {_SLT: True, _SLE: True, _SGT: False, _SGE: False}
#: the same comparison with its sides exchanged
_MIRRORED = {_SLT: _SGT, _SLE: _SGE, _SGT: _SLT, _SGE: _SLE}


def _true_in_any(condition: ir.Value, at: ir.Operation) -> ir.Value | None:
    """Condition (i1) that a comparison of consecutive integers with a scalar is true for any of them; None
    for anything else.

    Where they pass the largest integer, the least one is among them, and the largest.
    """
    op = producer(condition)
    if op is not None and replicates(op):
        return _true_in_any(source_of(op), at)
    compared = defining_op(condition, arith.CmpIOp)
    if compared is None:
        return None
    left, right = compared.operands
    predicate = ir.IntegerAttr(compared.attributes["predicate"]).value
    if is_uniform(left) and not is_uniform(right):
        left, right, predicate = right, left, _MIRRORED.get(predicate, predicate)
    if predicate not in _BY_FIRST or not is_uniform(right) or (ends := _ends(left, at)) is None:
        return None
    bound, (first, last) = scalar(right, at), ends
    width = ir.IntegerType(first.type).width
    extreme = -(1 << (width - 1)) if _BY_FIRST[predicate] else (1 << (width - 1)) - 1
    by_end = _compare(at, predicate, first if _BY_FIRST[predicate] else last, bound)
    wrapped = _compare(at, _SLT, last, first)
    of_extreme = _compare(at, predicate, constant(at, ir.IntegerAttr.get(first.type, extreme)), bound)
    passed = make(at, "arith.andi", wrapped.type, [wrapped, of_extreme])
    return make(at, "arith.ori", wrapped.type, [by_end, passed])


def _compare(at: ir.Operation, predicate: int, left: ir.Value, right: ir.Value) -> ir.Value:
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
    return make(at, "arith.cmpi", ir.IntegerType.get_signless(1), [left, right], {"predicate": attribute})


def _ends(value: ir.Value, at: ir.Operation) -> tuple[ir.Value, ir.Value] | None:
    """The first and the last of consecutive ascending integers, as scalars before ``at``."""
    op = producer(value)
    if op is None:
        return None
    if replicates(op):
        return _ends(source_of(op), at)
    if isa(op, arith.AddIOp):
        return _moved_ends(op, at)
    element = ir.RankedTensorType(value.type).element_type
    if isa(op, arith.ExtSIOp):
        op = producer(source_of(op))
    if op is None or not isa(op, MakeRangeOp):
        return None
    start, end = (ir.IntegerAttr(op.attributes[name]).value for name in ("start", "end"))
    return constant(at, ir.IntegerAttr.get(element, start)), constant(
        at, ir.IntegerAttr.get(element, end - 1)
    )


def _moved_ends(op: ir.Operation, at: ir.Operation) -> tuple[ir.Value, ir.Value] | None:
    for moved, by in (tuple(op.operands), tuple(op.operands)[::-1]):
        if is_uniform(by) and (ends := _ends(moved, at)) is not None:
            first, last = (make(at, "arith.addi", end.type, [end, scalar(by, at)]) for end in ends)
            return first, last
    return None
