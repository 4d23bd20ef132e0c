"""The passes for GPUs with units that run beside their threads: copies of blocks, dots of warp groups, barriers in memory."""

from __future__ import annotations

from collections.abc import Mapping

from tri_core.api import Pass
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
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.transforms.layout.sink_conversions import SinkConversions
from tri_gpu_dialect.transforms.pipeline.passes import loads_ahead, operands_in_memory
from tri_gpu_dialect.transforms.pipeline.split_loops import SplitLoops

__all__ = ["async_unit_passes", "memory_passes"]


def async_unit_passes(num_stages: int, policy: DefaultPolicy = DEFAULT_POLICY) -> tuple[Pass, ...]:
    """Passes for the argument ``loops`` of :func:`tri_gpu_dialect.ttgir_stage` on such a GPU: these passes
    among those of every GPU.

    ``num_stages``: as :func:`~tri_gpu_dialect.transforms.pipeline.passes.pipeline_passes` says.
    """
    return (
        GatherAcrossCluster(),
        MakePersistent(policy=policy),
        SplitLoops(policy=policy),
        WarpSpecialize(num_stages=num_stages, policy=policy),
        *loads_ahead(num_stages, policy),
        AccumulatorInit(),
        PipelineChainedDots(policy=policy),
        HoistAsyncDots(policy=policy),
        SinkDotWaits(),
        *operands_in_memory(policy),
        PingPong(policy=policy),
        PreloadAccumulator(policy=policy),
        LowerDescriptorsToTma(policy=policy),
        SinkConversions(),
    )


def memory_passes(policy: DefaultPolicy = DEFAULT_POLICY) -> Mapping[str, tuple[Pass, ...]]:
    """Those behind the loops, by anchor: the last that makes shared memory, and the one for what fits."""
    return {"ttgir.end": (SubtileEpilogue(policy=policy),), "ttgir.allocate": (CreateTensormaps(),)}
