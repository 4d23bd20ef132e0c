"""The AMD dialect ``amdg``: machine ops that LLVM IR has no words for."""

from __future__ import annotations

from tri_backend_amd.dialect.amdg import AMDG
from tri_backend_amd.dialect.buffers import BufferLoadOp, BufferStoreOp, MakeBufferOp
from tri_backend_amd.dialect.machine import (
    BarrierOp,
    BpermuteOp,
    ClockOp,
    DppOp,
    NumWorkgroupsOp,
    PermlaneX16Op,
    ReadFirstLaneOp,
    SwizzleOp,
    WorkgroupIdOp,
    WorkitemIdOp,
)

__all__ = [
    "AMDG",
    "BarrierOp",
    "BpermuteOp",
    "BufferLoadOp",
    "BufferStoreOp",
    "ClockOp",
    "DppOp",
    "MakeBufferOp",
    "NumWorkgroupsOp",
    "PermlaneX16Op",
    "ReadFirstLaneOp",
    "SwizzleOp",
    "WorkgroupIdOp",
    "WorkitemIdOp",
]
