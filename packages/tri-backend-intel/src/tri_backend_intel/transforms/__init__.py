"""The backend's own passes of the stage ``ttgir``."""

from __future__ import annotations

from tri_backend_intel.transforms.fold_tiles import FoldTiles
from tri_backend_intel.transforms.load_down_columns import LoadDownColumns
from tri_backend_intel.transforms.prefetch_tiles import PrefetchTiles
from tri_backend_intel.transforms.slice_dots import SliceDots
from tri_backend_intel.transforms.unsigned_divisions import UnsignedDivisions
from tri_backend_intel.transforms.version_tiles import VersionTiles

__all__ = ["FoldTiles", "LoadDownColumns", "PrefetchTiles", "SliceDots", "UnsignedDivisions", "VersionTiles"]
