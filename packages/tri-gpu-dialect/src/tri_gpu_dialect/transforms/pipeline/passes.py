"""The passes over loops that any GPU has a use for, in their order."""

from __future__ import annotations

from tri_core.api import Pass
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.transforms.layout.sink_conversions import SinkConversions
from tri_gpu_dialect.transforms.memory.buffer_cse import BufferCSE
from tri_gpu_dialect.transforms.memory.reorder_instructions import ReorderInstructions
from tri_gpu_dialect.transforms.memory.stage_matrix_operands import StageMatrixOperands
from tri_gpu_dialect.transforms.pipeline.pipeline import Pipeline
from tri_gpu_dialect.transforms.pipeline.prefetch import Prefetch
from tri_gpu_dialect.transforms.pipeline.split_loops import SplitLoops

__all__ = ["loads_ahead", "operands_in_memory", "pipeline_passes"]


def pipeline_passes(num_stages: int, policy: DefaultPolicy = DEFAULT_POLICY) -> tuple[Pass, ...]:
    """Passes for the argument ``loops`` of :func:`tri_gpu_dialect.ttgir_stage` on a GPU without asynchronous
    units.

    ``num_stages``: how many iterations' loads are there at the same time, the one that is computed with among them.
    """
    return (
        SplitLoops(policy=policy),
        *loads_ahead(num_stages, policy),
        *operands_in_memory(policy),
        SinkConversions(),
    )


def loads_ahead(num_stages: int, policy: DefaultPolicy) -> tuple[Pass, ...]:
    """Loads are issued ahead of their use; loads of the same share a buffer before, and views of it behind."""
    return (
        BufferCSE(measures=policy.scratch_measures),
        Pipeline(num_stages=num_stages, policy=policy),
        # what no loop keeps in stages, which have views of their own
        BufferCSE(transposed=True, measures=policy.scratch_measures),
    )


def operands_in_memory(policy: DefaultPolicy) -> tuple[Pass, ...]:
    """Operands of dots are read out of shared memory ahead, or stay there for units that read it."""
    return (
        Prefetch(policy=policy),
        StageMatrixOperands(policy=policy),
        # of a tensor that is an operand of several dots, perhaps transposed
        BufferCSE(transposed=True, measures=policy.scratch_measures),
        ReorderInstructions(measures=policy.scratch_measures, late_words=policy.dots.late_words),
    )
