"""Which tensors of pointers are tiles of an array: a base, a stride per dimension, an origin and bounds."""

from __future__ import annotations

from tri_core.passes.tiles.boundary import only_inside_matters
from tri_core.passes.tiles.polynomial import Polynomial, Trip
from tri_core.passes.tiles.reading import Condition, Index, Pointers, Reader
from tri_core.passes.tiles.tile import Axis, Tile, tile_of

__all__ = [
    "Axis",
    "Condition",
    "Index",
    "Pointers",
    "Polynomial",
    "Reader",
    "Tile",
    "Trip",
    "only_inside_matters",
    "tile_of",
]
