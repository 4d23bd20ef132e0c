"""The stages of an NVIDIA target: TTIR, TTGIR, LLVM IR, PTX, cubin."""

from __future__ import annotations

from dataclasses import replace

from tri_backend_nvidia.cubin import cubin_stage
from tri_backend_nvidia.mma import matrix_instructions
from tri_backend_nvidia.options import NvidiaOptions, check_launch, nvidia_options, registers_per_thread
from tri_backend_nvidia.primitives import NvidiaPrimitives
from tri_backend_nvidia.ptx import ptx_stage, text_stage
from tri_backend_nvidia.scaled_dots import AccelerateDotScaled, scaled_dots
from tri_backend_nvidia.schedule import ChooseSchedule, HopperPolicy, Machine, producer
from tri_backend_nvidia.schedule.costs import ADDRESS_REGISTERS
from tri_backend_nvidia.tcgen05 import table as tensor_memory
from tri_backend_nvidia.tcgen05.allocate_tensor_memory import AllocateTensorMemory
from tri_backend_nvidia.tcgen05.insert_barriers import InsertTcgen05Barriers
from tri_backend_nvidia.tcgen05.place_tensor_memory import PlaceTensorMemory
from tri_backend_nvidia.tma import guards
from tri_backend_nvidia.tma.boxes import ALIGNMENT, LARGEST, RANK, SHARED_ALIGNMENT
from tri_backend_nvidia.tma.policy import TensorMemoryAccelerator
from tri_backend_nvidia.tma.round_tf32 import TmaRoundTf32
from tri_core.api import CommonOptions, Pass, Pipeline, Stage, Target, Unsupported
from tri_core.passes import (
    CSE,
    LICM,
    Canonicalize,
    Combine,
    DecomposeDotScaled,
    PromotePointerTiles,
    RemoveDeadIterArgs,
    RewriteTensorDescriptors,
    ttir_stage,
)
from tri_core.plugins import manager
from tri_gpu_dialect import ttgir_stage
from tri_gpu_dialect.async_units.make_persistent import MakePersistent
from tri_gpu_dialect.async_units.passes import async_unit_passes, memory_passes
from tri_gpu_dialect.lowering import LoweringTable, generic_table, llir_stage, simulated_pipeline
from tri_gpu_dialect.passes import TurnLoads, UnmaskInnerTiles
from tri_gpu_dialect.policies.gpu import AsyncPolicy, DotPolicy, PipelinePolicy
from tri_gpu_dialect.transforms.pipeline.passes import pipeline_passes
from tri_gpu_dialect.transforms.pipeline.strategies import AsyncCopy

__all__ = ["assembled_level", "make_primitives", "pipeline", "policy", "simulated", "text_level"]


#: of a second-level cache, as far as programs should fill it: two thirds of the 50 MB of an H100, where keys and values of 16 heads were
#: best for attention, 8 and 32 being 1 to 3 % slower
_CACHE = 32 << 20
#: registers of an operand that is read behind other dots: ptxas moves reads across no barrier and has 255
_LATE = 16


def make_primitives(
    target: Target, options: CommonOptions, threads_per_warp: int, num_warps: int
) -> NvidiaPrimitives:
    """The primitives of one compile."""
    return NvidiaPrimitives(target, options, threads_per_warp=threads_per_warp, num_warps=num_warps)


def _table(target: Target, options: CommonOptions) -> LoweringTable:
    return manager().lowering(generic_table(), target, options)


def _block_copies(target: Target, options: NvidiaOptions) -> TensorMemoryAccelerator | None:
    if not options.tma_copies or not target.has("tma"):
        return None
    specialized, in_clusters = _specialized(target, options), options.num_ctas > 1
    if in_clusters and not specialized:
        return None
    return TensorMemoryAccelerator(in_dot_loops=specialized, in_clusters=in_clusters)


def _chooses(target: Target, options: NvidiaOptions) -> bool:
    """True if schedules are chosen by cost: for warp-group instructions that read shared memory, unless
    options decide.
    """
    return (
        target.has("wgmma")
        and target.has("tma")
        and options.tma_copies
        and options.warp_specialize is None
        and options.num_ctas == 1
        and not options.launch_pdl  # a launch begins beside the one before, whose counter it may share
    )


def _specialized(target: Target, options: NvidiaOptions) -> bool | None:
    """True if warps are specialised; None if a loop's request decides."""
    if not target.has("tma"):
        return False
    if options.num_ctas == 1:
        return options.warp_specialize
    if options.warp_specialize and not target.has("wgmma"):
        raise Unsupported(
            f"warp_specialize=True with num_ctas={options.num_ctas} on {target}: no dot there reads what CTAs copy for each other",
            remedy="use num_ctas=1, or leave warp_specialize out",
        )
    return bool(options.warp_specialize)


def policy(target: Target, given: CommonOptions) -> HopperPolicy:
    """Policy of ``target`` for the shared passes: matrix instructions, asynchronous copies, producers, costs."""
    options = nvidia_options(given)
    registers = registers_per_thread(options)
    # accumulators in tensor memory are those of one CTA
    in_tensor_memory = tensor_memory.instructions(target) if options.num_ctas == 1 else ()
    return HopperPolicy(
        dots=DotPolicy(
            instructions=(*in_tensor_memory, *matrix_instructions(target, registers, options.num_stages)),
            late_words=_LATE,
        ),
        pipeline=PipelinePolicy(
            loads=AsyncCopy(requires="cp-async") if target.has("cp-async") else None,
            prefetch=target.has("cp-async"),
            split_loops=options.split_loops,
            recurrences=True,
        ),
        async_units=AsyncPolicy(
            block_copies=_block_copies(target, options),
            producer=producer(options.num_warps),
            specialize=_specialized(target, options),
            pipeline_chained_dots=options.pipeline_chained_dots,
            ping_pong=options.ping_pong,
            registers=registers,
            address_registers=ADDRESS_REGISTERS,
            persistent=options.persistent,
            cache_bytes=_CACHE,
            dynamic_scheduler=target.has("tma"),
        ),
        machine=Machine(shared=target.spec.limits["shared"]),
        warps=options.num_warps,
        stages=options.num_stages,
    )


def _ttir(target: Target, options: NvidiaOptions) -> Stage:
    """Descriptors stay where the tensor memory accelerator can do what they are used for, scaled dots where an instruction can."""
    copies = _block_copies(target, options)
    scaled = scaled_dots(
        target, options.num_warps, options.num_ctas, specialize=_specialized(target, options)
    )
    native = (*(["descriptors"] if copies else []), *(["dot_scaled"] if scaled else []))
    decompose = (DecomposeDotScaled(refuses=scaled.refuses),) if scaled else ()
    if copies is None:
        return ttir_stage(native=native, rewrites=decompose)
    first, finals = _descriptor_passes(target, options, copies)
    return ttir_stage(native=native, rewrites=(first, *decompose), finals=finals)


def _descriptor_passes(
    target: Target, options: NvidiaOptions, copies: TensorMemoryAccelerator
) -> tuple[Pass, tuple[Pass, ...]]:
    """The pass that rewrites descriptors which copies cannot follow, and the last passes of the stage."""
    rewrite = _rewrite(copies)
    if _specialized(target, options):
        stores = _stores(rewrite, options)
        return stores, _for_producers(stores)
    if not _chooses(target, options):
        return rewrite, ()
    # what loops of dots load stays open until the end
    open_ = _rewrite(replace(copies, in_dot_loops=True))
    specialized = _for_producers(_stores(open_, options))
    plain = (rewrite, Combine(), Canonicalize(), CSE(), LICM())
    return open_, (ChooseSchedule(policy(target, options), specialized, plain),)


def _rewrite(copies: TensorMemoryAccelerator) -> RewriteTensorDescriptors:
    return RewriteTensorDescriptors(refuses=copies.refuses, conditions=guards.conditions)


def _stores(rewrite: RewriteTensorDescriptors, options: NvidiaOptions) -> RewriteTensorDescriptors:
    """Tiles leave from registers where the options say so."""
    return replace(rewrite, by_pointers=lambda _: True) if options.tma_stores is False else rewrite


def _promoted() -> PromotePointerTiles:
    return PromotePointerTiles(
        computed=True,
        extent=LARGEST,
        rank=RANK,
        alignment=ALIGNMENT,
        row_alignment=SHARED_ALIGNMENT,
    )


def _for_producers(rewrite: RewriteTensorDescriptors) -> tuple[Pass, ...]:
    """Blocks of pointers become those of descriptors; what copies cannot follow becomes pointers again."""
    return (
        _promoted(),
        RemoveDeadIterArgs(),
        Canonicalize(),
        rewrite,
        Canonicalize(),
    )


#: the backend's own passes of the stage ``ttgir``: anchor, feature of the target (any of them), pass
_TTGIR_PASSES: tuple[tuple[str, frozenset[str], type[Pass]], ...] = (
    ("ttgir.matmul", frozenset({"tcgen05", "mma-block-scale"}), AccelerateDotScaled),
    ("ttgir.matmul", frozenset({"wgmma"}), TurnLoads),
    ("ttgir.pipeline", frozenset({"wgmma"}), TmaRoundTf32),
    ("ttgir.end", frozenset({"tcgen05"}), AllocateTensorMemory),  # when nothing moves dots any more
    ("ttgir.allocate", frozenset({"tcgen05"}), PlaceTensorMemory),
    ("ttgir.barriers", frozenset({"tcgen05"}), InsertTcgen05Barriers),
)


def _ttgir(target: Target, options: NvidiaOptions) -> Stage:
    known = policy(target, options)
    own: dict[str, list[Pass]] = {}
    for anchor, features, factory in _TTGIR_PASSES:
        if any(map(target.has, features)):
            own.setdefault(anchor, []).append(factory())
    own.setdefault("ttgir.barriers", []).append(UnmaskInnerTiles())
    if not target.has("tma"):
        loops = (MakePersistent(policy=known), *pipeline_passes(options.num_stages, known))
        return ttgir_stage(target, options, known, own, loops)
    for anchor, shared in memory_passes(known).items():
        own.setdefault(anchor, []).extend(shared)
    return ttgir_stage(target, options, known, own, async_unit_passes(options.num_stages, known))


def pipeline(target: Target, given: CommonOptions) -> Pipeline:
    """The stages for one compile."""
    options = nvidia_options(given)
    check_launch(target, options)
    return Pipeline(
        stages=(
            _ttir(target, options),
            _ttgir(target, options),
            llir_stage(make_primitives, _table, target),
            ptx_stage(),
            cubin_stage(),
        )
    )


def simulated(target: Target, given: CommonOptions) -> Pipeline:
    """The stages for the simulator."""
    options = nvidia_options(given)
    check_launch(target, options)
    return simulated_pipeline(_ttgir(target, options), make_primitives, _table, _ttir(target, options))


def text_level(target: Target, given: CommonOptions) -> Pipeline:
    """The stages of the text level: as on the device, up to the text that an assembler is given."""
    options = nvidia_options(given)
    check_launch(target, options)
    llir = llir_stage(make_primitives, _table, target, lines=True)
    return Pipeline(stages=(_ttir(target, options), _ttgir(target, options), llir, ptx_stage(), text_stage()))


def assembled_level(target: Target, given: CommonOptions, last: Stage) -> Pipeline:
    """The stages as on the device, up to the text, and ``last``, which assembles it."""
    options = nvidia_options(given)
    check_launch(target, options)
    llir = llir_stage(make_primitives, _table, target)
    return Pipeline(stages=(_ttir(target, options), _ttgir(target, options), llir, ptx_stage(), last))
