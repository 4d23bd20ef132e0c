"""The stages of an NVIDIA target: TTIR, TTGIR, LLVM IR, PTX, cubin."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tri_backend_nvidia.cubin import cubin_stage
from tri_backend_nvidia.mma import matrix_instructions
from tri_backend_nvidia.options import NvidiaOptions, check_launch, registers_per_thread
from tri_backend_nvidia.primitives import NvidiaPrimitives
from tri_backend_nvidia.ptx import ptx_stage
from tri_backend_nvidia.scaled_products import AccelerateDotScaled, scaled_products
from tri_backend_nvidia.schedule import ChooseSchedule, HopperPolicy, Machine, producer
from tri_backend_nvidia.tcgen05 import table as tensor_memory
from tri_backend_nvidia.tcgen05.allocate_tensor_memory import AllocateTensorMemory
from tri_backend_nvidia.tcgen05.insert_barriers import InsertTcgen05Barriers
from tri_backend_nvidia.tma import guards as places
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
from tri_gpu_dialect.lowering import LoweringTable, generic_table, llir_stage, simulated_pipeline

__all__ = ["make_primitives", "pipeline", "policy", "simulated"]


#: of a second-level cache, as far as programs should fill it: two thirds of the 50 MB of an H100, where keys and values of 16 heads were
#: best for attention, 8 and 32 being 1 to 3 % slower
_CACHE = 32 << 20


def make_primitives(
    target: Target, options: CommonOptions, threads_per_warp: int, num_warps: int
) -> NvidiaPrimitives:
    """The words of one compile."""
    return NvidiaPrimitives(target, options, threads_per_warp=threads_per_warp, num_warps=num_warps)


def _table(target: Target, options: CommonOptions) -> LoweringTable:
    return manager().lowering(generic_table(), target, options)


def _bulk(target: Target, options: CommonOptions | None) -> TensorMemoryAccelerator | None:
    wanted = not isinstance(options, NvidiaOptions) or options.bulk_copies
    if not wanted or not target.has("tma"):
        return None
    specialized, in_clusters = _specialized(target, options), options is not None and options.num_ctas > 1
    if in_clusters and not specialized:
        return None
    return TensorMemoryAccelerator(in_products=specialized, in_clusters=in_clusters)


def _chooses(target: Target, options: CommonOptions | None) -> bool:
    """Whether schedules are chosen by cost: for instructions of warp groups that read shared memory, where options leave it open."""
    return (
        isinstance(options, NvidiaOptions)
        and target.has("wgmma")
        and target.has("tma")
        and options.bulk_copies
        and options.warp_specialize is None
        and options.num_ctas == 1
        and not options.launch_pdl  # a launch begins beside the one before, whose counter it may share
    )


def _specialized(target: Target, options: CommonOptions | None) -> bool | None:
    """Whether warps are specialised; None: where a loop asks for it."""
    if not isinstance(options, NvidiaOptions) or not target.has("tma"):
        return False
    if options.num_ctas > 1:
        if options.warp_specialize and not target.has("wgmma"):
            raise Unsupported(
                f"warp_specialize=True with num_ctas={options.num_ctas} on {target}: no dot there reads what CTAs copy for each other",
                remedy="use num_ctas=1, or leave warp_specialize out",
            )
        return bool(options.warp_specialize)
    return options.warp_specialize


def policy(target: Target, options: CommonOptions | None = None) -> HopperPolicy:
    """What the optimizer is told: accesses of 16 bytes, matrix instructions and bulk copies of ``target``."""
    copies = (32, 64, 128) if target.has("cp-async") else ()
    given = CommonOptions() if options is None else options
    return HopperPolicy(
        matrix_instructions=(
            # sums in tensor memory are those of one CTA
            *(tensor_memory.instructions(target) if given.num_ctas == 1 else ()),
            *matrix_instructions(target, registers_per_thread(options)),
        ),
        async_copy_bits=copies,
        prefetch=bool(copies),
        bulk_copies=_bulk(target, options),
        producer=None if options is None else producer(options.num_warps),
        specialize=_specialized(target, options),
        delay_dots=options.delay_dots if isinstance(options, NvidiaOptions) else None,
        ping_pong=options.ping_pong if isinstance(options, NvidiaOptions) else None,
        split_loops=options.split_loops if isinstance(options, NvidiaOptions) else None,
        registers=registers_per_thread(options),
        persistent=options.persistent if isinstance(options, NvidiaOptions) else None,
        cache_bytes=_CACHE,
        draws_programs=target.has("tma"),
        machine=Machine(shared=target.spec.limits["shared"]),
        warps=given.num_warps,
        stages=given.num_stages,
    )


def _ttir(target: Target, options: CommonOptions) -> Stage:
    """Descriptors stay where the tensor memory accelerator can do what they are used for."""
    bulk, scaled = _bulk(target, options), _scaled(target, options)
    if bulk is None:
        return ttir_stage(native=scaled.native, rewrites=scaled.rewrites)
    rewrite = _rewrite(bulk)
    finals: tuple[Pass, ...] = ()
    if _specialized(target, options):
        rewrite = _stores(rewrite, options)
        finals = _for_roles(rewrite)
    elif _chooses(target, options):
        # what loops of products load stays open until the end
        plain = (rewrite, Combine(), Canonicalize(), CSE(), LICM())
        rewrite = _rewrite(replace(bulk, in_products=True))
        finals = (ChooseSchedule(policy(target, options), _for_roles(_stores(rewrite, options)), plain),)
    return ttir_stage(
        native=("descriptors", *scaled.native), rewrites=(rewrite, *scaled.rewrites), finals=finals
    )


@dataclass(frozen=True)
class _Scaled:
    """What becomes of scaled products in TTIR: words for the stage, and its passes."""

    native: tuple[str, ...] = ()
    rewrites: tuple[Pass, ...] = ()


def _scaled(target: Target, options: CommonOptions) -> _Scaled:
    """Scaled products stay where an instruction does them; where none is, the stage decomposes them all."""
    products = scaled_products(
        target, options.num_warps, options.num_ctas, specialize=_specialized(target, options)
    )
    if products is None:
        return _Scaled()
    return _Scaled(("dot_scaled",), (DecomposeDotScaled(refuses=products.refuses),))


def _rewrite(bulk: TensorMemoryAccelerator) -> RewriteTensorDescriptors:
    return RewriteTensorDescriptors(refuses=bulk.refuses, conditions=places.conditions)


def _stores(rewrite: RewriteTensorDescriptors, options: CommonOptions) -> RewriteTensorDescriptors:
    """Tiles leave from registers where the options say so."""
    if not isinstance(options, NvidiaOptions) or options.bulk_stores is not False:
        return rewrite
    return replace(rewrite, by_pointers=lambda _: True)


def _for_roles(rewrite: RewriteTensorDescriptors) -> tuple[Pass, ...]:
    """Blocks of pointers become those of descriptors; what copies cannot follow becomes pointers again."""
    return (PromotePointerTiles(computed=True), RemoveDeadIterArgs(), Canonicalize(), rewrite, Canonicalize())


def _ttgir(target: Target, options: CommonOptions) -> Stage:
    """Sums of products are placed in tensor memory, where the target has it, when nothing moves dots any more."""
    stage = ttgir_stage(target, options, policy(target, options))
    if target.has("wgmma") and stage.passes is not None:
        stage.passes.insert("ttgir.pipeline", TmaRoundTf32())
    if stage.passes is not None and (target.has("tcgen05") or target.has("mma-block-scale")):
        stage.passes.insert("ttgir.matmul", AccelerateDotScaled())
    if target.has("tcgen05") and stage.passes is not None:
        stage.passes.insert("ttgir.end", AllocateTensorMemory())
        stage.passes.steps.append(InsertTcgen05Barriers())
    return stage


def pipeline(target: Target, options: CommonOptions) -> Pipeline:
    """The stages for one compile."""
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


def simulated(target: Target, options: CommonOptions) -> Pipeline:
    """The stages for the simulator."""
    check_launch(target, options)
    return simulated_pipeline(_ttgir(target, options), make_primitives, _table, _ttir(target, options))
