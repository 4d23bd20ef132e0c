"""The stages of an Intel target: TTIR, TTGIR, LLVM IR, SPIR-V."""

from __future__ import annotations

from tri_backend_intel.dpas import dots
from tri_backend_intel.lowering import make_primitives
from tri_backend_intel.lowering.capabilities import RefuseFp64
from tri_backend_intel.options import intel_options
from tri_backend_intel.spirv.stage import spirv_stage
from tri_core.api import CommonOptions, Pipeline, Target
from tri_core.passes import ttir_stage
from tri_core.plugins import manager
from tri_gpu_dialect import ttgir_stage
from tri_gpu_dialect.lowering import LoweringTable, generic_table, llir_stage, simulated_pipeline
from tri_gpu_dialect.policy import DefaultPolicy

__all__ = ["pipeline", "policy", "simulated"]


def _table(target: Target, options: CommonOptions) -> LoweringTable:
    return manager().lowering(generic_table(), target, options)


def policy(target: Target, options: CommonOptions) -> DefaultPolicy:
    """A GPU's lanes load vectors; a CPU's are one vector together, so each takes one element next to the others'."""
    if not target.has("gpu"):
        return DefaultPolicy(max_vector_bits=8)
    return DefaultPolicy(dots=dots(target, intel_options(options)))


def pipeline(target: Target, options: CommonOptions) -> Pipeline:
    """The stages for one compile."""
    checks = () if target.has("fp64") else (RefuseFp64(),)
    return Pipeline(
        stages=(
            ttir_stage(rewrites=checks),
            ttgir_stage(target, options, policy(target, options)),
            llir_stage(make_primitives, _table, target),
            spirv_stage(),
        )
    )


def simulated(target: Target, options: CommonOptions) -> Pipeline:
    """The stages for the simulator."""
    return simulated_pipeline(ttgir_stage(target, options, policy(target, options)), make_primitives, _table)
