"""A proof that two accesses of one address are always the same element of the same tile, whatever tiles they are.

An address is read as a polynomial: ``root + sum(F_d * r_d) + U``, where ``r_d`` counts the tile's elements along dimension ``d``, from 0 to
below ``B_d``, and ``U`` has none of them.  Where all of ``U`` that differs between the two is made of multiples of ``F_d * B_d``, the index
along a dimension is ``B_d * k + r_d``: equal indices are equal ``r_d``, and elements that meet have the same place in both tiles.  Of several
``F_d`` that divide a term the largest is the one that it counts: ``2 * n`` are two rows of ``n`` elements.  A block of an array (a block
pointer) that has one index along a dimension has a range of size 1 there (``ONE_INDEX``).

Two things are taken for granted: that offsets do not wrap (so one that is made narrower stays the number it is), and that elements of
different indices have different addresses (rows do not overlap), as a program must see to that stores them.

Words beside each other (scalars, whose distance is a number) never meet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TypeAlias

from tri_core.dialects.tt import (
    AddPtrOp,
    BroadcastOp,
    ExpandDimsOp,
    FuncOp,
    GetNumProgramsOp,
    GetProgramIdOp,
    MakeRangeOp,
    SplatOp,
)
from tri_core.ir.markers import ONE_INDEX
from tri_core.ir.regions import For, counted
from tri_core.ir.traits import source_of
from tri_core.ir.views import cast, defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.types import shape_of

__all__ = ["TileAddress", "never_meet", "same_places"]


@dataclass(frozen=True)
class _Range:
    """Counts elements along ``dim``, from 0 to below ``size``."""

    dim: int
    size: int


@dataclass(frozen=True)
class _Iterations:
    """Symbolic iteration count of the loop around block argument ``of``: different at each access."""

    of: ir.Value


_Leaf: TypeAlias = "ir.Value | _Range | _Iterations"
#: a product of leaves, each as often as it is a factor, in any order
_Product: TypeAlias = frozenset[tuple[_Leaf, int]]
_Polynomial: TypeAlias = dict[_Product, int]
#: what a range is multiplied with: a product, a factor; and the range's size
_Stride: TypeAlias = tuple[_Product, int, int]

_ONE: _Product = frozenset()
#: products of one polynomial, and values that are looked at, at most
_TERMS, _VALUES = 32, 256


def _constant(value: int) -> _Polynomial:
    return {_ONE: value} if value else {}


def _leaf(leaf: _Leaf) -> _Polynomial:
    return {frozenset({(leaf, 1)}): 1}


def _sum(left: _Polynomial, right: _Polynomial, sign: int = 1) -> _Polynomial:
    made = dict(left)
    for product, factor in right.items():
        made[product] = made.get(product, 0) + sign * factor
    return {product: factor for product, factor in made.items() if factor}


def _times(left: _Polynomial, right: _Polynomial) -> _Polynomial | None:
    made: _Polynomial = {}
    for one, a in left.items():
        for other, b in right.items():
            powers = dict(one)
            for leaf, power in other:
                powers[leaf] = powers.get(leaf, 0) + power
            made = _sum(made, {frozenset(powers.items()): a * b})
    return made if len(made) <= _TERMS else None


@dataclass
class TileAddress:
    """Reads addresses as polynomials; values that it has read are remembered while the IR stays."""

    _known: dict[ir.Value, _Polynomial | None] = field(default_factory=dict)

    def of(self, values: Sequence[ir.Value]) -> _Polynomial | None:
        """The sum of ``values``: pointers, and offsets from them; None where it has terms that nobody can tell apart."""
        found: _Polynomial = {}
        for value in values:
            part = self._read(value)
            if part is None or len(self._known) > _VALUES:
                return None
            found = _sum(found, part)
        return found

    def _read(self, value: ir.Value) -> _Polynomial | None:
        if value not in self._known:
            self._known[value] = None  # a value that is computed from itself
            self._known[value] = self._computed(value)
        return self._known[value]

    def _computed(self, value: ir.Value) -> _Polynomial | None:
        op = defining_op(value)
        if op is None:
            return self._argument(value)
        for kinds, read in _READERS:
            if isa(op, *kinds):
                return read(self, op)
        # a number of the whole program is what it is, whatever computed it
        return None if isinstance(value.type, ir.RankedTensorType) else _leaf(value)

    def _argument(self, value: ir.Value) -> _Polynomial | None:
        """A loop's variable, or a pointer that grows by the same in each iteration."""
        if (loop := counted(value)) is not None:
            return self._stepped(value, loop.lower, self._read(loop.step))
        block = ir.BlockArgument(value).owner
        carrier = For.of(block.owner.operation)
        if carrier is not None:
            number = ir.BlockArgument(value).arg_number - For.COUNTERS
            self._known[value] = own = _leaf(value)
            grown = self._read(carrier.yielded[number])
            step = None if grown is None else _sum(grown, own, -1)
            if step is not None and not any(leaf == value for product in step for leaf, _ in product):
                return self._stepped(value, carrier.inits[number], step)
        return None if isinstance(value.type, ir.RankedTensorType) else _leaf(value)

    def _stepped(self, value: ir.Value, first: ir.Value, step: _Polynomial | None) -> _Polynomial | None:
        start = self._read(first)
        grown = None if step is None else _times(step, _leaf(_Iterations(value)))
        return None if start is None or grown is None else _sum(start, grown)

    def _both(
        self, op: ir.Operation, combine: Callable[[_Polynomial, _Polynomial], _Polynomial | None]
    ) -> _Polynomial | None:
        left, right = (self._read(operand) for operand in op.operands)
        return None if left is None or right is None else combine(left, right)

    def _product(self, op: ir.Operation) -> _Polynomial | None:
        """A block's one index along a dimension is counted too."""
        if ONE_INDEX not in op.attributes:
            return self._both(op, _times)
        index, stride = (self._read(operand) for operand in op.operands)
        if index is None or stride is None:
            return None
        return _times(_sum(index, _leaf(_Range(ir.IntegerAttr(op.attributes[ONE_INDEX]).value, 1))), stride)

    def _expanded(self, op: ir.Operation) -> _Polynomial | None:
        """Dimensions behind the new one are counted on."""
        view = cast(op, ExpandDimsOp)
        axis, found = ir.IntegerAttr(view.axis).value, self._read(view.src)
        if found is None:
            return None

        def moved(leaf: _Leaf) -> _Leaf:
            return _Range(leaf.dim + 1, leaf.size) if isinstance(leaf, _Range) and leaf.dim >= axis else leaf

        return {frozenset((moved(leaf), power) for leaf, power in product): f for product, f in found.items()}


def _number(op: ir.Operation) -> _Polynomial | None:
    attribute = op.attributes["value"].maybe_downcast()
    if isinstance(attribute, ir.DenseElementsAttr):
        if not attribute.is_splat:
            return None
        attribute = attribute.get_splat_value().maybe_downcast()
    return _constant(attribute.value) if isinstance(attribute, ir.IntegerAttr) else None


def _range(op: ir.Operation) -> _Polynomial:
    view = cast(op, MakeRangeOp)
    start, end = ir.IntegerAttr(view.start).value, ir.IntegerAttr(view.end).value
    return _sum(_leaf(_Range(0, end - start)), _constant(start))


_Reader: TypeAlias = Callable[[TileAddress, ir.Operation], "_Polynomial | None"]
_READERS: tuple[tuple[tuple[type, ...], _Reader], ...] = (
    ((AddPtrOp, arith.AddIOp), lambda a, op: a._both(op, _sum)),
    ((arith.SubIOp,), lambda a, op: a._both(op, lambda x, y: _sum(x, y, -1))),
    ((arith.MulIOp,), lambda a, op: a._product(op)),
    (
        (SplatOp, BroadcastOp, ConvertLayoutOp, arith.ExtSIOp, arith.TruncIOp),
        lambda a, op: a._read(source_of(op)),
    ),
    ((ExpandDimsOp,), lambda a, op: a._expanded(op)),
    ((MakeRangeOp,), lambda a, op: _range(op)),
    ((arith.ConstantOp,), lambda a, op: _number(op)),
)


def same_places(
    one: _Polynomial, other: _Polynomial, type_: ir.Type, varies: Callable[[ir.Value], bool]
) -> bool:
    """True if elements of a tensor of ``type_`` at ``one`` and ``other`` that have the same address have the
    same place in it.

    ``varies``: whether a value may be another one when ``other`` is accessed.
    """
    (left, first), (right, second) = _parts(one), _parts(other)
    if left is None or left != right or _is_covered(left, type_) is False:
        return False
    strides = [(product, factor, dim.size) for dim, (product, factor) in left.items()]
    if any(_changes(product, varies) for product, _, _ in strides):
        return False
    differ = [p for p in first if _changes(p, varies)], [p for p in second if _changes(p, varies)]
    rest = _sum(
        {p: f for p, f in first.items() if p not in differ[0]},
        {p: f for p, f in second.items() if p not in differ[1]},
        -1,
    )
    moved = [*rest.items(), *((p, first[p]) for p in differ[0]), *((p, second[p]) for p in differ[1])]
    return all(_goes_by_tiles(p, f, strides) for p, f in moved)


def never_meet(one: _Polynomial, other: _Polynomial) -> bool:
    """True where words of one type at ``one`` and ``other`` are a known distance other than 0 apart, for all threads and iterations of a program."""
    leaves = {leaf for address in (one, other) for product in address for leaf, _ in product}
    return set(_sum(one, other, -1)) == {_ONE} and all(map(_is_of_the_program, leaves))


def _is_of_the_program(leaf: _Leaf) -> bool:
    """True where ``leaf`` has one value throughout the program: words that threads read from memory may differ among them."""
    if not isinstance(leaf, ir.Value):
        return False
    if isinstance(leaf.owner, ir.Block):
        return isa(leaf.owner.owner.operation, FuncOp)
    return isa(leaf.owner.operation, GetNumProgramsOp, GetProgramIdOp)


def _parts(address: _Polynomial) -> tuple[dict[_Range, tuple[_Product, int]] | None, _Polynomial]:
    """Factor of each range in ``address`` and the terms without a range; None if it is not a sum of ranges
    times one product each.
    """
    strides: dict[_Range, tuple[_Product, int]] = {}
    rest: _Polynomial = {}
    for product, factor in address.items():
        ranges = [(leaf, power) for leaf, power in product if isinstance(leaf, _Range)]
        if not ranges:
            rest[product] = factor
            continue
        (leaf, power), *more = ranges
        if more or power != 1 or leaf in strides:
            return None, rest
        strides[leaf] = (product - {(leaf, 1)}, factor)
    return strides, rest


def _is_covered(strides: dict[_Range, tuple[_Product, int]], type_: ir.Type) -> bool:
    """True if one range covers each dimension of the tensor completely."""
    counted_ = sorted((leaf.dim, leaf.size) for leaf in strides if leaf.size > 1)
    return counted_ == [(dim, size) for dim, size in enumerate(shape_of(type_)) if size > 1]


def _changes(product: _Product, varies: Callable[[ir.Value], bool]) -> bool:
    return any(
        isinstance(leaf, _Iterations) or (isinstance(leaf, ir.Value) and varies(leaf)) for leaf, _ in product
    )


def _goes_by_tiles(product: _Product, factor: int, strides: Sequence[_Stride]) -> bool:
    """True if ``product`` times ``factor`` is a multiple of the tile size along its dimension."""
    counts = [s for s in strides if _divides(s, product, factor)]
    largest = [
        s for s in counts if not any(_divides(s, o[0], o[1]) and not _divides(o, s[0], s[1]) for o in counts)
    ]
    return bool(largest) and all(factor % (by * size) == 0 for _, by, size in largest)


def _divides(stride: _Stride, product: _Product, factor: int) -> bool:
    """True if ``product`` times ``factor`` is a multiple of ``stride``."""
    powers = dict(product)
    return factor % stride[1] == 0 and all(powers.get(leaf, 0) >= power for leaf, power in stride[0])
