"""Tiles: tensors of pointers as a base, a stride per dimension, an origin and bounds of an array."""

from __future__ import annotations

from tri_core.passes.tiles.boundary import only_inside_matters
from tri_core.passes.tiles.polynomial import Polynomial, Symbol, Trip
from tri_core.passes.tiles.reading import Condition, Index, Pointers, Reader, ancestors, is_inside
from tri_core.passes.tiles.tile import Axis, Tile, is_known_outside, tile_of

__all__ = [
    "Axis",
    "Condition",
    "Index",
    "Pointers",
    "Polynomial",
    "Reader",
    "Symbol",
    "Tile",
    "Trip",
    "ancestors",
    "is_inside",
    "is_known_outside",
    "only_inside_matters",
    "tile_of",
]
