"""The AMD dialect ``amdg``: ops on whole tensors, and machine ops that LLVM IR has no words for."""

from __future__ import annotations

from tri_backend_amd.dialect.amdg import AMDG
from tri_backend_amd.dialect.arithmetic import DivFixupOp, Exp2Op, ReciprocalOp, ReciprocalRootOp
from tri_backend_amd.dialect.block import (
    BufferAtomicCasOp,
    BufferAtomicRmwOp,
    BufferLoadBlockOp,
    BufferLoadToLocalOp,
    BufferStoreBlockOp,
    ConcatOp,
    CondBarrierOp,
    ExtractSliceOp,
    InThreadTransposeOp,
)
from tri_backend_amd.dialect.buffers import BufferAtomicOp, BufferLoadOp, BufferStoreOp, MakeBufferOp
from tri_backend_amd.dialect.conversions import (
    ConvertScaledOp,
    ScaledUpcastFp4Op,
    ScaledUpcastFp8Op,
    UpcastMxfpOp,
)
from tri_backend_amd.dialect.copies import BufferLoadLdsOp, WaitLoadsOp
from tri_backend_amd.dialect.machine import (
    BarrierOp,
    BpermuteOp,
    ClockOp,
    DppOp,
    ExecutionBarrierOp,
    LocalBarrierOp,
    NumWorkgroupsOp,
    PermlaneSwapOp,
    PermlaneX16Op,
    PermuteBytesOp,
    ReadFirstLaneOp,
    ReadLaneOp,
    SwizzleOp,
    WorkgroupIdOp,
    WorkitemIdOp,
)
from tri_backend_amd.dialect.printing import PrintOp
from tri_backend_amd.dialect.scheduling import (
    IglpOp,
    InstructionSchedHintOp,
    SchedBarrierOp,
    SchedGroupOp,
    SetPriorityOp,
)
from tri_backend_amd.dialect.small_floats import DecodeFloat8Op, EncodeFloat8Op
from tri_backend_amd.dialect.transposing import ReadTransposedOp

__all__ = [
    "AMDG",
    "BarrierOp",
    "BpermuteOp",
    "BufferAtomicCasOp",
    "BufferAtomicOp",
    "BufferAtomicRmwOp",
    "BufferLoadBlockOp",
    "BufferLoadLdsOp",
    "BufferLoadOp",
    "BufferLoadToLocalOp",
    "BufferStoreBlockOp",
    "BufferStoreOp",
    "ClockOp",
    "ConcatOp",
    "CondBarrierOp",
    "ConvertScaledOp",
    "DecodeFloat8Op",
    "DivFixupOp",
    "DppOp",
    "EncodeFloat8Op",
    "ExecutionBarrierOp",
    "Exp2Op",
    "ExtractSliceOp",
    "IglpOp",
    "InThreadTransposeOp",
    "InstructionSchedHintOp",
    "LocalBarrierOp",
    "MakeBufferOp",
    "NumWorkgroupsOp",
    "PermlaneSwapOp",
    "PermlaneX16Op",
    "PermuteBytesOp",
    "PrintOp",
    "ReadFirstLaneOp",
    "ReadLaneOp",
    "ReadTransposedOp",
    "ReciprocalOp",
    "ReciprocalRootOp",
    "ScaledUpcastFp4Op",
    "ScaledUpcastFp8Op",
    "SchedBarrierOp",
    "SchedGroupOp",
    "SetPriorityOp",
    "SwizzleOp",
    "UpcastMxfpOp",
    "WaitLoadsOp",
    "WorkgroupIdOp",
    "WorkitemIdOp",
]
