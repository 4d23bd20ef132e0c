"""The dialect ``nvm``: one op per instruction of NVIDIA GPUs that LLVM IR cannot say.

``nvm`` is the last level before LLVM text; the block-level dialect of this vendor is another one.
"""

from __future__ import annotations

from tri_backend_nvidia.machine.base import NVM
from tri_backend_nvidia.machine.ops.atomics import AtomicCasOp, AtomicFenceOp, AtomicLoadOp, AtomicRmwOp
from tri_backend_nvidia.machine.ops.cluster import (
    ClusterBarrierOp,
    MapaOp,
    PeerArriveOp,
    PeerLoadOp,
    PeerStoreOp,
    PeerWaitOp,
)
from tri_backend_nvidia.machine.ops.copies import CopyAsyncOp, CopyCommitOp, CopyWaitOp
from tri_backend_nvidia.machine.ops.faults import RecordFaultOp
from tri_backend_nvidia.machine.ops.math import ApproximateOp, ConvertOp, DivideFullOp, PermuteBytesOp
from tri_backend_nvidia.machine.ops.matrix import LdMatrixOp, MmaOp
from tri_backend_nvidia.machine.ops.mbarrier import (
    BarrierArriveOp,
    BarrierExpectOp,
    BarrierInitOp,
    BarrierInvalOp,
    BarrierWaitOp,
    CopyArriveOp,
    FenceOp,
)
from tri_backend_nvidia.machine.ops.memory import LoadOp, StoreOp
from tri_backend_nvidia.machine.ops.mma_scaled import ScaledMmaOp
from tri_backend_nvidia.machine.ops.printing import PrintOp
from tri_backend_nvidia.machine.ops.stmatrix import StMatrixOp
from tri_backend_nvidia.machine.ops.tcgen05 import (
    InstructionDescriptor,
    TensorCommitOp,
    TensorFenceOp,
    TensorMemoryAllocOp,
    TensorMemoryDeallocOp,
    TensorMemoryLoadOp,
    TensorMemoryStoreOp,
    TensorMemoryWaitOp,
    TensorMultiplyOp,
    TensorMultiplyTensorOp,
)
from tri_backend_nvidia.machine.ops.tcgen05_scaled import TensorCopyOp, TensorMultiplyScaledOp
from tri_backend_nvidia.machine.ops.threads import (
    BarrierOp,
    ClockOp,
    ElectOp,
    GridDependencyOp,
    OrderedBarrierOp,
    PartitionBarrierOp,
    ReadRegisterOp,
    SetRegistersOp,
    ShuffleOp,
    WarpBarrierOp,
)
from tri_backend_nvidia.machine.ops.tma import (
    MapAcquireOp,
    MapPrefetchOp,
    MapPublishOp,
    MapReplaceOp,
    TmaCommitOp,
    TmaLoadOp,
    TmaStoreOp,
    TmaWaitOp,
)
from tri_backend_nvidia.machine.ops.wgmma import WgmmaOp, WgmmaShape, WgmmaWaitOp
from tri_backend_nvidia.machine.scaled_formats import SCALED_KINDS, ScaledDescriptor, ScaledKind, ScaledStep

__all__ = [
    "NVM",
    "SCALED_KINDS",
    "ApproximateOp",
    "AtomicCasOp",
    "AtomicFenceOp",
    "AtomicLoadOp",
    "AtomicRmwOp",
    "BarrierArriveOp",
    "BarrierExpectOp",
    "BarrierInitOp",
    "BarrierInvalOp",
    "BarrierOp",
    "BarrierWaitOp",
    "ClockOp",
    "ClusterBarrierOp",
    "ConvertOp",
    "CopyArriveOp",
    "CopyAsyncOp",
    "CopyCommitOp",
    "CopyWaitOp",
    "DivideFullOp",
    "ElectOp",
    "FenceOp",
    "GridDependencyOp",
    "InstructionDescriptor",
    "LdMatrixOp",
    "LoadOp",
    "MapAcquireOp",
    "MapPrefetchOp",
    "MapPublishOp",
    "MapReplaceOp",
    "MapaOp",
    "MmaOp",
    "OrderedBarrierOp",
    "PartitionBarrierOp",
    "PeerArriveOp",
    "PeerLoadOp",
    "PeerStoreOp",
    "PeerWaitOp",
    "PermuteBytesOp",
    "PrintOp",
    "ReadRegisterOp",
    "RecordFaultOp",
    "ScaledDescriptor",
    "ScaledKind",
    "ScaledMmaOp",
    "ScaledStep",
    "SetRegistersOp",
    "ShuffleOp",
    "StMatrixOp",
    "StoreOp",
    "TensorCommitOp",
    "TensorCopyOp",
    "TensorFenceOp",
    "TensorMemoryAllocOp",
    "TensorMemoryDeallocOp",
    "TensorMemoryLoadOp",
    "TensorMemoryStoreOp",
    "TensorMemoryWaitOp",
    "TensorMultiplyOp",
    "TensorMultiplyScaledOp",
    "TensorMultiplyTensorOp",
    "TmaCommitOp",
    "TmaLoadOp",
    "TmaStoreOp",
    "TmaWaitOp",
    "WarpBarrierOp",
    "WgmmaOp",
    "WgmmaShape",
    "WgmmaWaitOp",
]
