"""Passes over TTGIR, and the one that makes it of TTIR."""

from __future__ import annotations

from tri_gpu_dialect.passes.accelerate_matmul import AccelerateMatmul
from tri_gpu_dialect.passes.accumulator_init import AccumulatorInit
from tri_gpu_dialect.passes.allocate_shared_memory import AllocateSharedMemory
from tri_gpu_dialect.passes.coalesce import Coalesce
from tri_gpu_dialect.passes.convert_triton_to_tritongpu import ConvertTritonToTritonGPU
from tri_gpu_dialect.passes.copy_descriptor_blocks import CopyDescriptorBlocks
from tri_gpu_dialect.passes.create_tensormaps import CreateTensormaps
from tri_gpu_dialect.passes.delay_dots import DelayDots
from tri_gpu_dialect.passes.fit_shared_memory import FitSharedMemory
from tri_gpu_dialect.passes.fold_comparisons import FoldComparisons
from tri_gpu_dialect.passes.gather_blocks import GatherBlocks
from tri_gpu_dialect.passes.insert_barriers import InsertBarriers
from tri_gpu_dialect.passes.optimize_thread_locality import OptimizeThreadLocality
from tri_gpu_dialect.passes.overlap_dots import OverlapDots
from tri_gpu_dialect.passes.persist import Persist
from tri_gpu_dialect.passes.ping_pong import PingPong
from tri_gpu_dialect.passes.pipeline import Pipeline
from tri_gpu_dialect.passes.prefetch import Prefetch
from tri_gpu_dialect.passes.remove_layout_conversions import RemoveLayoutConversions
from tri_gpu_dialect.passes.reorder_instructions import ReorderInstructions
from tri_gpu_dialect.passes.sink_conversions import SinkConversions
from tri_gpu_dialect.passes.split_loops import SplitLoops
from tri_gpu_dialect.passes.split_stores import SplitStores
from tri_gpu_dialect.passes.stage_dot_operands import StageDotOperands
from tri_gpu_dialect.passes.stage_matrix_operands import StageMatrixOperands
from tri_gpu_dialect.passes.start_dots import StartDots
from tri_gpu_dialect.passes.start_sums import StartSums
from tri_gpu_dialect.passes.verify_layouts import VerifyLayouts
from tri_gpu_dialect.passes.warp_specialize import WarpSpecialize

__all__ = [
    "AccelerateMatmul",
    "AccumulatorInit",
    "AllocateSharedMemory",
    "Coalesce",
    "ConvertTritonToTritonGPU",
    "CopyDescriptorBlocks",
    "CreateTensormaps",
    "DelayDots",
    "FitSharedMemory",
    "FoldComparisons",
    "GatherBlocks",
    "InsertBarriers",
    "OptimizeThreadLocality",
    "OverlapDots",
    "Persist",
    "PingPong",
    "Pipeline",
    "Prefetch",
    "RemoveLayoutConversions",
    "ReorderInstructions",
    "SinkConversions",
    "SplitLoops",
    "SplitStores",
    "StageDotOperands",
    "StageMatrixOperands",
    "StartDots",
    "StartSums",
    "VerifyLayouts",
    "WarpSpecialize",
]
