"""Accesses of pointers as tiles: per dimension a stride, where the tile begins and how far the array goes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tri_core.mlir import ir
from tri_core.passes.tiles.polynomial import Polynomial, Trip
from tri_core.passes.tiles.reading import Condition, Pointers

__all__ = ["Axis", "Tile", "tile_of"]

_ONE = Polynomial.constant(1)


@dataclass(frozen=True)
class Axis:
    """One dimension: elements between neighbours, where the tile begins, the array's size (None: it is never left).

    ``wrap`` is the limit from which on the access starts again at the beginning; None for most.
    """

    stride: Polynomial
    origin: Polynomial
    size: Polynomial | None
    wrap: Polynomial | None = None


@dataclass(frozen=True)
class Tile:
    """An access to the array at ``base`` (an argument); ``contiguous`` is the dimension of stride 1."""

    base: ir.Value
    axes: tuple[Axis, ...]
    contiguous: int


def tile_of(pointers: Pointers, conditions: Iterable[Condition], rank: int) -> Tile | None:
    """The tile that ``pointers`` under ``conditions`` access; None where it is none, or its array depends on the program.

    An origin with negative terms needs a lower bound: other indices are taken to be inside of the array.
    """
    strides = dict(pointers.index.coefficients)
    if len(strides) != rank or any(len(s.terms) != 1 for s in strides.values()):
        return None
    units = [d for d in range(rank) if strides[d].value == 1]
    if len(units) != 1:
        return None
    origins = _origins(pointers.index.offset, strides, units[0])
    wraps, found = dict(pointers.index.wraps), list(conditions)
    axes = []
    for d in range(rank):
        sizes = _sizes(origins[d], [c for c in found if c.dim == d], wraps.get(d))
        if sizes is None or not all(map(_is_known_outside, (strides[d], *sizes))):
            return None
        axes.append(Axis(strides[d], origins[d], next(iter(sizes), None), wraps.get(d)))
    return Tile(pointers.base, tuple(axes), units[0])


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


def _is_known_outside(value: Polynomial) -> bool:
    """Whether ``value`` is made of numbers and arguments of the function."""
    return all(not isinstance(s, Trip) and _is_argument(s) for s in value.symbols())


def _is_argument(value: ir.Value) -> bool:
    owner = value.owner
    return isinstance(owner, ir.Block) and owner.owner.operation.name == "tt.func"
