"""The Intel dialect ``ttig``: machine ops that LLVM IR has no words for."""

from __future__ import annotations

from tri_backend_intel.dialect.encoding import Dpas
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
from tri_backend_intel.dialect.matrix import DpasOp
from tri_backend_intel.dialect.ttig import TTIG

__all__ = [
    "TTIG",
    "BarrierOp",
    "Dpas",
    "DpasOp",
    "GroupIdOp",
    "NumGroupsOp",
    "ShuffleOp",
    "ShuffleUpOp",
    "ShuffleXorOp",
    "SubGroupBarrierOp",
    "SubGroupIdOp",
    "SubGroupLaneOp",
]
