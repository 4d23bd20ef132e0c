"""The Intel dialect ``ttig``: machine ops that LLVM IR has no words for."""

from __future__ import annotations

from tri_backend_intel.dialect.assertions import FailedOp, LeaveOp
from tri_backend_intel.dialect.atomics import AtomicLoadOp
from tri_backend_intel.dialect.blocks import BlockLoadOp, BlockPrefetchOp, BlockStoreOp
from tri_backend_intel.dialect.cache_controls import CACHE_MARKER, CacheControlOp
from tri_backend_intel.dialect.conversions import RoundToBf16Op
from tri_backend_intel.dialect.encoding import Dpas
from tri_backend_intel.dialect.lanes import Dealt, LanesOp
from tri_backend_intel.dialect.machine import (
    BarrierOp,
    ClockOp,
    GroupIdOp,
    LocalBarrierOp,
    NumGroupsOp,
    ShuffleOp,
    ShuffleXorOp,
    SubGroupIdOp,
    SubGroupLaneOp,
)
from tri_backend_intel.dialect.matrix import DpasOp
from tri_backend_intel.dialect.printing import PrintOp
from tri_backend_intel.dialect.tiles import TileLoadOp, TilePrefetchOp, TileStoreOp
from tri_backend_intel.dialect.ttig import TTIG

__all__ = [
    "CACHE_MARKER",
    "TTIG",
    "AtomicLoadOp",
    "BarrierOp",
    "BlockLoadOp",
    "BlockPrefetchOp",
    "BlockStoreOp",
    "CacheControlOp",
    "ClockOp",
    "Dealt",
    "Dpas",
    "DpasOp",
    "FailedOp",
    "GroupIdOp",
    "LanesOp",
    "LeaveOp",
    "LocalBarrierOp",
    "NumGroupsOp",
    "PrintOp",
    "RoundToBf16Op",
    "ShuffleOp",
    "ShuffleXorOp",
    "SubGroupIdOp",
    "SubGroupLaneOp",
    "TileLoadOp",
    "TilePrefetchOp",
    "TileStoreOp",
]
