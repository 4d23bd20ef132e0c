"""Passes over TTGIR, and the one that makes it of TTIR."""

from __future__ import annotations

import warnings
from typing import Any

from tri_gpu_dialect.async_units.accumulator_init import AccumulatorInit
from tri_gpu_dialect.async_units.create_tensormaps import CreateTensormaps
from tri_gpu_dialect.async_units.gather_across_cluster import GatherAcrossCluster
from tri_gpu_dialect.async_units.hoist_async_dots import HoistAsyncDots
from tri_gpu_dialect.async_units.lower_descriptors_to_tma import LowerDescriptorsToTma
from tri_gpu_dialect.async_units.make_persistent import MakePersistent
from tri_gpu_dialect.async_units.ping_pong import PingPong
from tri_gpu_dialect.async_units.pipeline_chained_dots import PipelineChainedDots
from tri_gpu_dialect.async_units.preload_accumulator import PreloadAccumulator
from tri_gpu_dialect.async_units.sink_dot_waits import SinkDotWaits
from tri_gpu_dialect.async_units.subtile_epilogue import SubtileEpilogue
from tri_gpu_dialect.async_units.warp_specialize import WarpSpecialize
from tri_gpu_dialect.transforms.layout.accelerate_matmul import AccelerateMatmul
from tri_gpu_dialect.transforms.layout.coalesce import Coalesce
from tri_gpu_dialect.transforms.layout.convert_triton_to_tritongpu import ConvertTritonToTritonGPU
from tri_gpu_dialect.transforms.layout.optimize_thread_locality import OptimizeThreadLocality
from tri_gpu_dialect.transforms.layout.remove_layout_conversions import RemoveLayoutConversions
from tri_gpu_dialect.transforms.layout.resolve_auto_layouts import ResolveAutoLayouts
from tri_gpu_dialect.transforms.layout.sink_conversions import SinkConversions
from tri_gpu_dialect.transforms.layout.turn_loads import TurnLoads
from tri_gpu_dialect.transforms.layout.verify_layouts import VerifyLayouts
from tri_gpu_dialect.transforms.memory.allocate_shared_memory import AllocateSharedMemory
from tri_gpu_dialect.transforms.memory.buffer_cse import BufferCSE
from tri_gpu_dialect.transforms.memory.fit_shared_memory import FitSharedMemory
from tri_gpu_dialect.transforms.memory.fold_comparisons import FoldComparisons
from tri_gpu_dialect.transforms.memory.insert_barriers import InsertBarriers
from tri_gpu_dialect.transforms.memory.reorder_instructions import ReorderInstructions
from tri_gpu_dialect.transforms.memory.stage_dot_operands import StageDotOperands
from tri_gpu_dialect.transforms.memory.stage_matrix_operands import StageMatrixOperands
from tri_gpu_dialect.transforms.memory.unmask_inner_tiles import UnmaskInnerTiles
from tri_gpu_dialect.transforms.pipeline.pipeline import Pipeline
from tri_gpu_dialect.transforms.pipeline.prefetch import Prefetch
from tri_gpu_dialect.transforms.pipeline.split_loops import SplitLoops

__all__ = [
    "AccelerateMatmul",
    "AccumulatorInit",
    "AllocateSharedMemory",
    "BufferCSE",
    "Coalesce",
    "ConvertTritonToTritonGPU",
    "CreateTensormaps",
    "FitSharedMemory",
    "FoldComparisons",
    "GatherAcrossCluster",
    "HoistAsyncDots",
    "InsertBarriers",
    "LowerDescriptorsToTma",
    "MakePersistent",
    "OptimizeThreadLocality",
    "PingPong",
    "Pipeline",
    "PipelineChainedDots",
    "Prefetch",
    "PreloadAccumulator",
    "RemoveLayoutConversions",
    "ReorderInstructions",
    "ResolveAutoLayouts",
    "SinkConversions",
    "SinkDotWaits",
    "SplitLoops",
    "StageDotOperands",
    "StageMatrixOperands",
    "SubtileEpilogue",
    "TurnLoads",
    "UnmaskInnerTiles",
    "VerifyLayouts",
    "WarpSpecialize",
]

#: what passes were called in the version before
_FORMER = {
    "CopyDescriptorBlocks": "LowerDescriptorsToTma",
    "DelayDots": "PipelineChainedDots",
    "GatherBlocks": "GatherAcrossCluster",
    "OverlapDots": "SinkDotWaits",
    "Persist": "MakePersistent",
    "SplitStores": "SubtileEpilogue",
    "StartDots": "HoistAsyncDots",
    "StartSums": "PreloadAccumulator",
}


def __getattr__(name: str) -> Any:
    if name not in _FORMER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{__name__}.{name} is called {_FORMER[name]}", DeprecationWarning, stacklevel=2)
    return globals()[_FORMER[name]]
