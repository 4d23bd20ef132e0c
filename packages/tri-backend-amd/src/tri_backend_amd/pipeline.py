"""The stages of an AMD target: TTIR, TTGIR, LLVM IR, assembly, linked code object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tri_backend_amd.direct_copies import DIRECT
from tri_backend_amd.hsaco.carried import carrying_stages
from tri_backend_amd.hsaco.stages import assembly_and_object_stages
from tri_backend_amd.lowering import make_primitives
from tri_backend_amd.mfma.policy import mfma_policy
from tri_backend_amd.options import amd_options
from tri_backend_amd.passes.accelerate_dot_scaled import AccelerateDotScaled
from tri_backend_amd.passes.block_ping_pong import BlockPingPong
from tri_backend_amd.passes.convert_to_buffer_ops import ConvertToBufferOps
from tri_backend_amd.passes.lay_out_copies import LayOutCopies
from tri_backend_amd.passes.remap_programs import RemapPrograms
from tri_backend_amd.passes.share_peeled_iteration import SharePeeledIteration
from tri_backend_amd.passes.transpose_in_thread import TransposeInThread
from tri_backend_amd.passes.uniform_offsets import UniformOffsets
from tri_backend_amd.passes.upcast_scaled_operands import UpcastScaledOperands, obstacle
from tri_backend_amd.wmma.table import wmma_policy
from tri_core import knobs
from tri_core.api import CommonOptions, Pass, Pipeline, Stage, Target
from tri_core.passes import DecomposeDotScaled, ttir_stage
from tri_core.plugins import manager
from tri_gpu_dialect import ttgir_stage
from tri_gpu_dialect.lowering import LoweringTable, generic_table, llir_stage, simulated_pipeline
from tri_gpu_dialect.policies.gpu import DefaultPolicy

__all__ = ["pipeline", "policy", "simulated"]


def _table(target: Target, options: CommonOptions) -> LoweringTable:
    return manager().lowering(generic_table(), target, options)


def _passes(target: Target, options: CommonOptions) -> Mapping[str, Sequence[Pass]]:
    """The backend's own passes of the stage ``ttgir``, by anchor."""
    own = amd_options(options)
    least = own.matrix_instr_nonkdim
    remapped = [RemapPrograms(own.xcds)] if own.xcds > 1 else []
    copies = [LayOutCopies(options.num_stages)] if target.has(DIRECT) else []
    return {
        "ttgir.begin": [*remapped, UniformOffsets()],
        "ttgir.coalesce": [UpcastScaledOperands(least)],
        "ttgir.matmul": [AccelerateDotScaled(least), *copies, TransposeInThread()],
        "ttgir.end": [
            SharePeeledIteration(),
            ConvertToBufferOps(),
            *([BlockPingPong()] if target.has("mfma") else []),
        ],
    }


def policy(target: Target, options: CommonOptions) -> DefaultPolicy:
    """Policy of ``target`` for the shared passes: its matrix instructions."""
    own = amd_options(options)
    if target.has("wmma"):
        return wmma_policy(target.key.arch)
    return mfma_policy(
        target.key.arch,
        options.num_warps,
        own.matrix_instr_nonkdim,
        own.kpack,
        copies=target.has(DIRECT),
    )


def _ttgir(target: Target, options: CommonOptions) -> Stage:
    return ttgir_stage(target, options, policy(target, options), _passes(target, options))


def _ttir(target: Target) -> Stage:
    """Scaled dots stay where the matrix unit multiplies what conversions make of their operands."""
    if not (target.has("mfma") or target.has("wmma")):
        return ttir_stage()
    return ttir_stage(native=("dot_scaled",), rewrites=(DecomposeDotScaled(refuses=obstacle),))


def pipeline(target: Target, options: CommonOptions) -> Pipeline:
    """The stages for one compile."""
    last = (llir_stage(make_primitives, _table, target), *assembly_and_object_stages())
    if knobs.get("AMD_STANDIN"):
        last = carrying_stages(*last)
    return Pipeline(stages=(_ttir(target), _ttgir(target, options), *last))


def simulated(target: Target, options: CommonOptions) -> Pipeline:
    """The stages for the simulator."""
    return simulated_pipeline(_ttgir(target, options), make_primitives, _table, _ttir(target))
