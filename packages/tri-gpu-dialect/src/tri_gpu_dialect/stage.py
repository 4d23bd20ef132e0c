"""The stage ``ttgir``: from TTIR to tensors with layouts, shared memory and barriers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tri_gpu_dialect.dialect  # noqa: F401  the dialect is there when the stage is
from tri_core.api import (
    Anchor,
    CommonOptions,
    OptionError,
    OutOfResources,
    Pass,
    PassList,
    PluginError,
    Stage,
    StageContext,
    StageResult,
    Target,
)
from tri_core.ir.markers import EXPLICIT
from tri_core.ir.regions import verify_regions
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.dialect.markers import TENSOR_MEMORY
from tri_gpu_dialect.edit import module_int
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.remarks import remarks_of, schedule_of
from tri_gpu_dialect.transforms.layout.accelerate_matmul import AccelerateMatmul
from tri_gpu_dialect.transforms.layout.coalesce import Coalesce
from tri_gpu_dialect.transforms.layout.convert_triton_to_tritongpu import ConvertTritonToTritonGPU
from tri_gpu_dialect.transforms.layout.optimize_thread_locality import OptimizeThreadLocality
from tri_gpu_dialect.transforms.layout.remove_layout_conversions import RemoveLayoutConversions
from tri_gpu_dialect.transforms.layout.resolve_auto_layouts import ResolveAutoLayouts
from tri_gpu_dialect.transforms.layout.verify_layouts import VerifyLayouts
from tri_gpu_dialect.transforms.memory.allocate_shared_memory import AllocateSharedMemory
from tri_gpu_dialect.transforms.memory.fit_shared_memory import FitSharedMemory
from tri_gpu_dialect.transforms.memory.fold_comparisons import FoldComparisons
from tri_gpu_dialect.transforms.memory.insert_barriers import InsertBarriers
from tri_gpu_dialect.transforms.memory.stage_dot_operands import StageDotOperands
from tri_gpu_dialect.transforms.pipeline.passes import pipeline_passes

__all__ = ["threads_per_warp", "ttgir_passes", "ttgir_stage"]

#: the anchor behind which memory gets its places, whoever chose the layouts
_ALLOCATE = "ttgir.allocate"


def threads_per_warp(target: Target, options: CommonOptions) -> int:
    """Threads of a warp: the option ``warp_size`` where a backend has one and it is set, else the target's first.

    OptionError for a size that the target cannot run.
    """
    known = target.spec.threads_per_warp or (32,)
    wanted = int(getattr(options, "warp_size", 0)) or known[0]
    if wanted not in known:
        raise OptionError(
            f"warp_size is {wanted}; {target} runs warps of {' or '.join(map(str, known))}",
            remedy=f"pass warp_size={known[0]}, or leave it out",
        )
    return wanted


def ttgir_passes(
    target: Target,
    options: CommonOptions,
    policy: DefaultPolicy = DEFAULT_POLICY,
    passes: Mapping[str, Sequence[Pass]] | None = None,
    loops: Sequence[Pass] | None = None,
) -> PassList:
    """The passes of the stage, with the anchors where plugins put theirs in; arguments as :func:`ttgir_stage` says."""
    warp = threads_per_warp(target, options)
    _check_cluster(target, options)
    _check_threads(target, options, warp)
    convert = ConvertTritonToTritonGPU(
        target=str(target.key),
        num_warps=options.num_warps,
        threads_per_warp=warp,
        num_ctas=options.num_ctas,
        policy=policy,
    )
    shared = [
        *_layout_passes(convert, policy),
        *(pipeline_passes(options.num_stages, policy) if loops is None else loops),
        *_memory_passes(policy),
    ]
    listed = PassList(shared)
    for anchor, own in (passes or {}).items():
        if anchor not in (step.name for step in shared if isinstance(step, Anchor)):
            raise PluginError(
                f"the stage ttgir has no anchor {anchor}",
                remedy=f"its anchors are {', '.join(step.name for step in shared if isinstance(step, Anchor))}",
                plugin=target.key.backend,
            )
        listed.insert(anchor, *own)
    return listed


def _layout_passes(convert: Pass, policy: DefaultPolicy) -> list[Pass | Anchor]:
    return [
        Anchor("ttgir.begin"),
        FoldComparisons(),
        convert,
        Anchor("ttgir.convert"),
        Coalesce(policy=policy),
        Anchor("ttgir.coalesce"),
        AccelerateMatmul(policy=policy),
        # a backend may give more dots their layouts here; only then do conversions settle
        Anchor("ttgir.matmul"),
        # what is left is done by multiply-add
        StageDotOperands(),
        RemoveLayoutConversions(policy=policy),
        OptimizeThreadLocality(),
        Anchor("ttgir.pipeline"),
    ]


def _memory_passes(policy: DefaultPolicy) -> list[Pass | Anchor]:
    measures = policy.scratch_measures
    return [
        Anchor("ttgir.end"),
        # nothing may move or make shared memory once it has its place
        FitSharedMemory(measures=measures),
        Anchor(_ALLOCATE),
        AllocateSharedMemory(measures=measures),
        InsertBarriers(measures=measures),
        Anchor("ttgir.barriers"),
    ]


def _check_threads(target: Target, options: CommonOptions, warp: int) -> None:
    limit = target.spec.limits.get("threads")
    if limit is not None and options.num_warps * warp > limit:
        # an autotuner may ask for what one target has and another lacks: it skips such configurations
        raise OutOfResources(
            f"num_warps is {options.num_warps}: {options.num_warps * warp} threads; {target} runs {limit} per block",
            resource="threads",
            need=options.num_warps * warp,
            have=limit,
            remedy=f"pass num_warps={limit // warp} or fewer",
            nearest={"num_warps": limit // warp},
        )


def _check_cluster(target: Target, options: CommonOptions) -> None:
    have = target.spec.limits.get("cluster")
    if have is not None and options.num_ctas > have:
        raise OutOfResources(
            f"num_ctas is {options.num_ctas}; {target} launches {have} together",
            resource="cluster",
            need=options.num_ctas,
            have=have,
            remedy=f"pass num_ctas={have}" + (" or fewer" if have > 1 else ""),
            nearest={"num_ctas": have},
        )


@dataclass(frozen=True)
class _Run:
    """Action of the stage."""

    passes: PassList

    def __call__(self, module: ir.Module, context: StageContext) -> StageResult:
        verify_regions(module.operation)
        passes = _explicit(self.passes) if EXPLICIT in module.operation.attributes else self.passes
        passes.run("ttgir", module, context)
        return StageResult(
            artifact=module,
            resources={"shared": module_int(module, "ttg.shared"), **_tensor_memory(module)},
            attrs={
                "num_warps": module_int(module, "ttg.num-warps"),
                "threads_per_warp": module_int(module, "ttg.threads-per-warp"),
                "num_ctas": module_int(module, "ttg.num-ctas"),
                **({"remarks": said} if (said := remarks_of(module)) else {}),
                **({"schedule": how} if (how := schedule_of(module)) else {}),
            },
        )


def _explicit(passes: PassList) -> PassList:
    """The passes for a module whose author chose its layouts: they are checked, and memory gets its places."""
    start = passes.steps.index(Anchor(_ALLOCATE))
    return PassList([ResolveAutoLayouts(), VerifyLayouts(), *passes.steps[start:]])


def _tensor_memory(module: ir.Module) -> dict[str, int]:
    """Columns of tensor memory, where a backend's pass has allocated some."""
    has_some = TENSOR_MEMORY in module.operation.attributes
    return {"tensor_memory": module_int(module, TENSOR_MEMORY)} if has_some else {}


def ttgir_stage(
    target: Target,
    options: CommonOptions,
    policy: DefaultPolicy = DEFAULT_POLICY,
    passes: Mapping[str, Sequence[Pass]] | None = None,
    loops: Sequence[Pass] | None = None,
) -> Stage:
    """The stage ``ttgir`` of a GPU pipeline, between ``ttir`` and ``llir``.

    It begins with layouts and ends with shared memory.  ``loops``: the passes between, which the backend composes of published
    families (:func:`~tri_gpu_dialect.transforms.pipeline.passes.pipeline_passes`, the default, or
    :func:`~tri_gpu_dialect.async_units.passes.async_unit_passes`) and its own.  ``passes``: more of its own, by anchor.

    Anchors: ``ttgir.begin``, ``ttgir.convert`` (every tensor has a layout), ``ttgir.coalesce``, ``ttgir.matmul`` (before conversions are
    settled), ``ttgir.pipeline`` (after, before ``loops``), ``ttgir.end`` (behind them), ``ttgir.allocate`` (what is there fits into
    shared memory, and gets its place next), ``ttgir.barriers`` (last).
    """
    listed = ttgir_passes(target, options, policy, passes, loops)
    return Stage(name="ttgir", kind="module", run=_Run(listed), passes=listed)
