"""Accesses of pointers as tiles: per dimension a stride, where the tile begins and how far the array goes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace

from tri_core.dialects.tt import FuncOp
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes.tiles.polynomial import Polynomial, Trip
from tri_core.passes.tiles.reading import Condition, Pointers

__all__ = ["Axis", "Tile", "is_known_outside", "tile_of"]

_ONE = Polynomial.constant(1)


@dataclass(frozen=True)
class Axis:
    """One dimension: elements between neighbours, where the tile begins, the array's size (None: it is never left).

    Strides are made of numbers and arguments of the function; sizes too, but for those of tiles that may be ``computed``.

    ``wrap`` is the limit from which on the access starts again at the beginning; None for most.
    """

    stride: Polynomial
    origin: Polynomial
    size: Polynomial | None
    wrap: Polynomial | None = None


@dataclass(frozen=True)
class Tile:
    """An access to the array ``shift`` elements behind ``base`` (an argument); ``contiguous`` is the dimension of stride 1."""

    base: ir.Value
    axes: tuple[Axis, ...]
    contiguous: int
    shift: Polynomial = field(default_factory=Polynomial)

    @property
    def computed(self) -> tuple[int, ...]:
        """The dimensions whose size is computed."""
        return tuple(
            d for d, a in enumerate(self.axes) if a.size is not None and not is_known_outside(a.size)
        )


def tile_of(
    pointers: Pointers, conditions: Iterable[Condition], rank: int, *, computed: bool = False
) -> Tile | None:
    """The tile that ``pointers`` under ``conditions`` access; None where it is none, or its array depends on the program.

    With ``computed`` its array may: where the tile and the array's end begin with the same computed terms, the array begins there;
    else its size is computed.  An origin with negative terms needs a lower bound: other indices are taken to be inside of the array.
    """
    strides = dict(pointers.index.coefficients)
    if len(strides) != rank or any(len(s.terms) != 1 for s in strides.values()):
        return None
    units = [d for d in range(rank) if strides[d].value == 1]
    if len(units) != 1:
        return None
    origins = _origins(pointers.index.offset, strides, units[0])
    wraps, found = dict(pointers.index.wraps), list(conditions)
    axes, shift = [], Polynomial()
    for d in range(rank):
        sizes = _sizes(origins[d], [c for c in found if c.dim == d], wraps.get(d))
        if sizes is None or not is_known_outside(strides[d]):
            return None
        axis = Axis(strides[d], origins[d], next(iter(sizes), None), wraps.get(d))
        if axis.size is not None and not is_known_outside(axis.size):
            if not computed:
                return None
            axis, moved = _moved(axis)
            shift += moved * strides[d]
        axes.append(axis)
    return Tile(pointers.base, tuple(axes), units[0], shift)


def _moved(axis: Axis) -> tuple[Axis, Polynomial]:
    """``axis`` without the computed terms of its size, if its origin has them all, and these; else as it is."""
    assert axis.size is not None
    terms = {m: c for m, c in axis.size.terms if not is_known_outside(Polynomial.of({m: c}))}
    common, origin = Polynomial.of(terms), axis.origin - Polynomial.of(terms)
    if not common.terms <= axis.origin.terms or not origin.known_nonnegative:
        return axis, Polynomial()
    return replace(axis, origin=origin, size=axis.size - common), common


def _origins(offset: Polynomial, strides: dict[int, Polynomial], unit: int) -> dict[int, Polynomial]:
    """Each term of the offset goes to the dimension whose stride divides it, the others to the contiguous one."""
    origins = {}
    others = [d for d in strides if d != unit]
    # strides of many symbols first, then large numbers
    for d in sorted(others, key=lambda d: (-_degree(strides[d]), -abs(strides[d].value or 0), d)):
        origins[d], offset = offset.divided(strides[d])
    return {**origins, unit: offset}


def _degree(stride: Polynomial) -> int:
    ((monomial, _),) = stride.terms
    return len(monomial)


def _sizes(
    origin: Polynomial, conditions: list[Condition], wrap: Polynomial | None
) -> set[Polynomial] | None:
    """The one size that the conditions amount to, or none for no bound; None where they are something else."""
    uppers = {origin + c.limit for c in conditions if not c.lower}
    if wrap is not None:
        uppers.add(origin + wrap)
    lowers = {origin + c.limit for c in conditions if c.lower}
    if len(uppers) > 1 or any(low.value != 0 for low in lowers):
        return None
    return uppers if lowers or origin.known_nonnegative else None


def is_known_outside(value: Polynomial) -> bool:
    """True if ``value`` consists of constants and arguments of the function."""
    return all(not isinstance(s, Trip) and _is_argument(s) for s in value.symbols())


def _is_argument(value: ir.Value) -> bool:
    owner = value.owner
    return isinstance(owner, ir.Block) and isa(owner.owner.operation, FuncOp)
