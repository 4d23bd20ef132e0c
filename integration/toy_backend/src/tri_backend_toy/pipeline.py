"""The stages: ``ttir``, ``ttgir`` (tensors have layouts), ``llir`` (LLVM IR) and ``image``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tri_core.api import CommonOptions, Pipeline, Target
from tri_core.passes import ttir_stage
from tri_core.plugins import manager
from tri_gpu_dialect import ttgir_stage
from tri_gpu_dialect.lowering import LoweringTable, generic_table, llir_stage, simulated_pipeline
from tri_gpu_dialect.policies.gpu import DefaultPolicy

from tri_backend_toy.image import image_stage
from tri_backend_toy.primitives import make_primitives

__all__ = ["POLICY", "pipeline", "simulated"]


@dataclass(frozen=True)
class ToyPolicy(DefaultPolicy):
    """Answers to the shared passes and the tuner."""

    def prune(
        self, configs: Sequence[Mapping[str, Any]], arguments: Mapping[str, Any]
    ) -> Sequence[Mapping[str, Any]]:
        """Those of the fewest warps: one processor runs all threads, so that more of them are never faster."""
        del arguments
        fewest = min(each["num_warps"] for each in configs)
        return [each for each in configs if each["num_warps"] == fewest]

    def configurations(self) -> Sequence[Mapping[str, Any]]:
        """One warp, with all of LLVM's optimisations and with few."""
        return [{"num_warps": 1, "opt_level": 3}, {"num_warps": 1, "opt_level": 1}]


#: how wide a thread accesses memory; a matrix unit and asynchronous copies are described here, too
POLICY = ToyPolicy(max_vector_bits=128)


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
