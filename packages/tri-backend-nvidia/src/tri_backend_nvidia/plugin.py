"""The plugin: what tri finds through the entry point ``nvidia``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tri_core.api import BackendInfo, LanguageExtension, SimulatedLevel, Simulation, hookimpl

if TYPE_CHECKING:
    from tri_core.api import (
        AotLauncher,
        CommonOptions,
        ConformanceProfile,
        DeviceInfo,
        DevicePerformance,
        FrameworkAdapter,
        KnobGroup,
        Pipeline,
        Policy,
        Runtime,
        Target,
        TargetKey,
    )
    from tri_core.mlir import IRRegistry
    from tri_gpu_dialect.lowering import LoweringTable

TRI_PLUGIN_API = (1, 0)
TRI_REQUIRES = {"tri-gpu-dialect": ">=0.4,<0.5", "tri-runtime": ">=0.4,<0.5"}


@hookimpl
def tri_backends() -> Sequence[BackendInfo]:
    """One backend, ``nvidia``, for devices of kind ``cuda``."""
    from tri_backend_nvidia.architectures import ARCHITECTURES

    return [
        BackendInfo(
            name="nvidia",
            device_kinds=("cuda",),
            runtime="cuda",
            priority=30,
            architectures=tuple(ARCHITECTURES),
            description="NVIDIA GPUs through PTX, ptxas and the CUDA driver",
            tuning_options=frozenset(("ptx_options", "ptx_version")),
            testing={
                name: f"tri_backend_nvidia.testing:{name}"
                for name in ("cublas", "cuda_graph_without_gc", "cuda_memcheck", "nvsmi", "set_gpu_clock")
            },
        )
    ]


@hookimpl
def tri_knobs() -> Sequence[KnobGroup]:
    """Knobs for the paths of tools."""
    from tri_backend_nvidia.knobs import KNOBS

    return [KNOBS]


@hookimpl
def tri_adapters() -> Sequence[FrameworkAdapter]:
    """Libraries whose arrays show a ``__cuda_array_interface__``."""
    from tri_backend_nvidia.adapters import ADAPTERS

    return ADAPTERS


@hookimpl
def tri_language() -> Sequence[LanguageExtension]:
    """``tl.extra.cuda``, ``gl.nvidia``, and the answers of ``tl.target_info``."""
    from tri_backend_nvidia.queries import QUERIES

    return [
        LanguageExtension(
            namespace="cuda",
            module="tri_backend_nvidia.language",
            module_map={"tri.language.extra.libdevice": "tri_backend_nvidia.language.libdevice"},
            targets=("nvidia",),
            queries=QUERIES,
        ),
        LanguageExtension(
            namespace="gluon.nvidia", module="tri_backend_nvidia.language.gluon", targets=("nvidia",)
        ),
    ]


@hookimpl
def tri_register_ir(registry: IRRegistry) -> None:
    """The machine ops, and the encodings of matrix instructions."""
    from tri_backend_nvidia.machine import NVM
    from tri_backend_nvidia.mma import TTNG

    # what they define of the dialect has to be there when it is loaded
    from tri_backend_nvidia.tcgen05 import encoding, ops, scales, tmem_operands  # noqa: F401

    registry.add_dialect(NVM)
    registry.add_dialect(TTNG)
    registry.add_text("ttng", "tri_backend_nvidia.mma.text")
    registry.add_passes("tri_backend_nvidia.schedule", "ChooseSchedule")
    registry.add_passes("tri_backend_nvidia.tma.round_tf32", "TmaRoundTf32")
    registry.add_passes("tri_backend_nvidia.scaled_dots", "AccelerateDotScaled")
    registry.add_passes("tri_backend_nvidia.tcgen05.allocate_tensor_memory", "AllocateTensorMemory")
    registry.add_passes("tri_backend_nvidia.tcgen05.place_tensor_memory", "PlaceTensorMemory")
    registry.add_passes("tri_backend_nvidia.tcgen05.insert_barriers", "InsertTcgen05Barriers")


@hookimpl
def tri_cache_key(target: Target) -> Mapping[str, str]:
    """The assembler's identity, and what is rewritten before it: another ptxas makes other machine code."""
    if target.key.backend != "nvidia":
        return {}
    if target.key.simulated:
        if not target.key.level:
            return {}
        from tri_backend_nvidia.sass.levels import identity_of_level

        return identity_of_level(target.key.level, target.key.arch)
    from tri_backend_nvidia.ptxas import identity

    return identity(target.key.arch)


@hookimpl
def tri_probe(backend: str) -> Sequence[DeviceInfo]:
    """The GPUs that the driver reports; none without a driver."""
    del backend
    from tri_backend_nvidia.driver.devices import probe

    return probe()


@hookimpl
def tri_target(backend: str, key: TargetKey, device: DeviceInfo | None) -> Target:
    """The target of ``key``, or that of ``device`` when it names no architecture."""
    del backend
    from tri_backend_nvidia.architectures import target

    return target(key, device)


@hookimpl
def tri_pipeline(target: Target, options: CommonOptions) -> Pipeline:
    """ttir, ttgir, llir, ptx, cubin."""
    from tri_backend_nvidia.pipeline import pipeline

    return pipeline(target, options)


@hookimpl
def tri_policy(target: Target, options: CommonOptions) -> Policy:
    """Accesses, matrix instructions and TMA copies."""
    from tri_backend_nvidia.pipeline import policy

    return policy(target, options)


@hookimpl
def tri_simulation(target: Target) -> Simulation:
    """ttir, ttgir, and the machine ops; as level ``text``, PTX; below it what each ptxas makes of that."""
    from tri_backend_nvidia.pipeline import simulated, text_level
    from tri_backend_nvidia.simulation import decode_text, externals

    levels = {"text": SimulatedLevel(pipeline=text_level, decode=decode_text)}

    def assemblers() -> Mapping[str, SimulatedLevel]:
        from tri_backend_nvidia.sass import levels

        return levels.assemblers(target)

    return Simulation(pipeline=simulated, externals=externals, levels=levels, assemblers=assemblers)


@hookimpl
def tri_lowering(table: LoweringTable, target: Target, options: CommonOptions) -> None:
    """Loads of matrices, asynchronous and TMA copies, and barriers in memory, where the target has them."""
    del options
    if target.key.backend != "nvidia":
        return
    from tri_backend_nvidia.mma.rules import add_rules
    from tri_backend_nvidia.tma import rules as tma
    from tri_gpu_dialect.lowering import add_constant_offsets

    add_constant_offsets(table)  # loads and stores add 24 bits
    add_rules(table, target)
    tma.add_rules(table, target)
    if target.has("tcgen05"):
        from tri_backend_nvidia.tcgen05 import rules as tensor_memory
        from tri_backend_nvidia.tcgen05 import scaled_rules

        tensor_memory.add_rules(table, target)
        scaled_rules.add_rules(table, target)


@hookimpl
def tri_runtime(device_kind: str) -> Runtime:
    """The CUDA driver's runtime."""
    del device_kind
    from tri_backend_nvidia.driver import CudaRuntime

    return CudaRuntime()


@hookimpl
def tri_aot(target: Target) -> AotLauncher:
    """Cubins inside of C sources that load the driver themselves."""
    del target
    from tri_backend_nvidia.aot import launcher

    return launcher()


@hookimpl
def tri_performance(device: DeviceInfo) -> DevicePerformance:
    """Rates from the driver's attributes and the data sheet's operations per clock."""
    from tri_backend_nvidia.performance import performance

    return performance(device)


@hookimpl
def tri_conformance(target: Target) -> ConformanceProfile:
    """Conformance profile; unsupported features are listed in ``conformance.toml``."""
    from tri_backend_nvidia.conformance import profile

    return profile(target)
