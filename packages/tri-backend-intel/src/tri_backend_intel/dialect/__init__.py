"""The Intel dialect ``ttig``: machine ops that LLVM IR has no words for."""

from __future__ import annotations

from tri_backend_intel.dialect.machine import (
    BarrierOp,
    GroupIdOp,
    NumGroupsOp,
    ShuffleOp,
    ShuffleUpOp,
    ShuffleXorOp,
    SubGroupBarrierOp,
    SubGroupIdOp,
    SubGroupLaneOp,
)
from tri_backend_intel.dialect.ttig import TTIG

__all__ = [
    "TTIG",
    "BarrierOp",
    "GroupIdOp",
    "NumGroupsOp",
    "ShuffleOp",
    "ShuffleUpOp",
    "ShuffleXorOp",
    "SubGroupBarrierOp",
    "SubGroupIdOp",
    "SubGroupLaneOp",
]
