"""The stages: ``ttir``, ``ttgir`` (tensors have layouts), ``llir`` (LLVM IR) and ``image``."""

from __future__ import annotations

from tri_core.api import CommonOptions, Pipeline, Target
from tri_core.passes import ttir_stage
from tri_core.plugins import manager
from tri_gpu_dialect import ttgir_stage
from tri_gpu_dialect.lowering import LoweringTable, generic_table, llir_stage, simulated_pipeline
from tri_gpu_dialect.policies.gpu import DefaultPolicy

from tri_backend_toy.image import image_stage
from tri_backend_toy.primitives import make_primitives

__all__ = ["POLICY", "pipeline", "simulated"]

#: how wide a thread accesses memory; a matrix unit and asynchronous copies are described here, too
POLICY = DefaultPolicy(max_vector_bits=128)


def _table(target: Target, options: CommonOptions) -> LoweringTable:
    """The shared lowering rules, and those that plugins add through ``tri_lowering``."""
    return manager().lowering(generic_table(), target, options)


def pipeline(target: Target, options: CommonOptions) -> Pipeline:
    """The stages of ``toy:...``."""
    return Pipeline(
        stages=(
            ttir_stage(),
            ttgir_stage(target, options, POLICY),
            llir_stage(make_primitives, _table, target),
            image_stage(),
        )
    )


def simulated(target: Target, options: CommonOptions) -> Pipeline:
    """The stages of ``sim:toy:...``: the same, down to machine ops."""
    return simulated_pipeline(ttgir_stage(target, options, POLICY), make_primitives, _table)
