"""The stages of an Intel target: TTIR, TTGIR, LLVM IR, SPIR-V."""

from __future__ import annotations

from functools import partial

from tri_backend_intel.dpas import dots
from tri_backend_intel.lowering import make_primitives
from tri_backend_intel.lowering.capabilities import RefuseFp64
from tri_backend_intel.lowering.tables import BLOCKS, make_table
from tri_backend_intel.options import (
    IntelOptions,
    check_path,
    check_registers,
    intel_options,
    without_simd,
)
from tri_backend_intel.spirv.carried import carrying
from tri_backend_intel.spirv.stage import spirv_stage
from tri_backend_intel.transforms import (
    FoldTiles,
    LoadDownColumns,
    PrefetchTiles,
    SliceDots,
    UnsignedDivisions,
    VersionTiles,
    surfaces,
)
from tri_backend_intel.xegpu import chosen_stages, simd_stages
from tri_core import knobs
from tri_core.api import CommonOptions, Pass, Pipeline, Stage, StageContext, Target
from tri_core.mlir import ir
from tri_core.passes import (
    Canonicalize,
    PromotePointerTiles,
    RemoveDeadIterArgs,
    RewriteTensorDescriptors,
    ttir_stage,
)
from tri_gpu_dialect import ttgir_stage
from tri_gpu_dialect.edit import module_int
from tri_gpu_dialect.lowering import llir_stage, lower, simulated_pipeline
from tri_gpu_dialect.passes import FoldComparisons
from tri_gpu_dialect.policies.gpu import DefaultPolicy

__all__ = ["pipeline", "policy", "simulated"]


def policy(target: Target, options: CommonOptions) -> DefaultPolicy:
    """A GPU's lanes load vectors; a CPU's are one vector together, so each takes one element next to the others'."""
    if not target.has("gpu"):
        return DefaultPolicy(max_vector_bits=8)
    return DefaultPolicy(dots=dots(target, intel_options(options)))


def _ttir(target: Target, options: CommonOptions) -> Stage:
    """Descriptors that 2D blocks might serve stay, and tiles of pointers become such."""
    checks = () if target.has("fp64") else (RefuseFp64(),)
    known = policy(target, options)
    if not target.has(BLOCKS) or not known.dots.instructions:
        return ttir_stage(rewrites=checks)
    rewrite = RewriteTensorDescriptors(refuses=partial(surfaces.refuses, policy=known))
    promoted = PromotePointerTiles(computed=True, alignment=surfaces.PITCH)
    # Masks that are true everywhere are no sizes of arrays.  By SIMD they stay: where one of two that share a bound is
    # folded, the other's bound is one value of rows and of columns, which lanes cannot hold in two ways.
    folded = () if intel_options(options).path == "simd" else (FoldComparisons(),)
    finals = (*folded, promoted, RemoveDeadIterArgs(), Canonicalize(), rewrite, Canonicalize())
    return ttir_stage(native=("descriptors",), rewrites=(rewrite, *checks), finals=finals)


def _ttgir(target: Target, options: CommonOptions) -> Stage:
    own: dict[str, list[Pass]] = {}
    known = policy(target, options)
    if target.has(BLOCKS) and known.dots.instructions:
        own["ttgir.coalesce"] = [LoadDownColumns(policy=known)]
        own["ttgir.end"] = [UnsignedDivisions()]
    if target.has(BLOCKS):
        own["ttgir.pipeline"] = [FoldTiles(), VersionTiles(), PrefetchTiles(), SliceDots()]
    elif target.has("dpas"):
        # where operands are read out of local memory
        own["ttgir.end"] = [SliceDots()]
    return ttgir_stage(target, options, known, own)


def pipeline(target: Target, options: CommonOptions) -> Pipeline:
    """The stages for one compile; OutOfResources for more warps than a core runs with their registers."""
    own = intel_options(options)
    check_registers(target, own)
    check_path(target, own)
    first, llir = _path(target, own)
    last = (llir, spirv_stage())
    if knobs.get("INTEL_STANDIN"):
        last = carrying(*last)
    return Pipeline(stages=(_ttir(target, options), first, *last))


def _path(target: Target, options: IntelOptions) -> tuple[Stage, Stage]:
    """The two stages from TTIR to LLVM IR."""
    if options.path == "simd":
        return simd_stages(simulated=False)
    return _chosen(target, options, _ttgir(target, options), llir_stage(make_primitives, make_table, target))


def simulated(target: Target, options: CommonOptions) -> Pipeline:
    """The stages for the simulator."""
    own = intel_options(options)
    check_path(target, own)
    if own.path == "simd":
        return Pipeline(stages=(_ttir(target, options), *simd_stages(simulated=True)))
    simt = simulated_pipeline(
        _ttgir(target, options), make_primitives, make_table, ttir=_ttir(target, options)
    ).stages
    return Pipeline(stages=(simt[0], *_chosen(target, own, *simt[1:])))


def _chosen(target: Target, options: IntelOptions, ttgir: Stage, llir: Stage) -> tuple[Stage, Stage]:
    """The stages of the SIMT path, or those that take either path."""
    if options.path != "auto" or without_simd(target, options) is not None:
        return ttgir, llir

    def lowered(module: ir.Module, context: StageContext) -> ir.Module:
        size, warps = (module_int(module, f"ttg.{name}") for name in ("threads-per-warp", "num-warps"))
        words = make_primitives(target, options, size, warps)
        return lower(module, target, options, words, make_table(target, options)).module

    return chosen_stages(ttgir, llir, lowered)
