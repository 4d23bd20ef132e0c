"""The plugin: what tri finds through the entry point ``amd``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tri_core.api import BackendInfo, LanguageExtension, Simulation, hookimpl

if TYPE_CHECKING:
    from tri_core.api import (
        AotLauncher,
        CommonOptions,
        ConformanceProfile,
        DeviceInfo,
        FrameworkAdapter,
        KernelABI,
        KernelMetadata,
        KnobGroup,
        LoopEstimates,
        Pipeline,
        Runtime,
        Target,
        TargetKey,
    )
    from tri_core.mlir import IRRegistry
    from tri_gpu_dialect.lowering import LoweringTable

TRI_PLUGIN_API = (1, 1)
TRI_REQUIRES = {"tri-gpu-dialect": ">=0.4,<0.5", "tri-runtime": ">=0.4,<0.5"}


@hookimpl
def tri_backends() -> Sequence[BackendInfo]:
    """One backend, ``amd``, for devices of kind ``hip``."""
    from tri_backend_amd.processors import DEVICE_KIND, PROCESSORS

    return [
        BackendInfo(
            name="amd",
            device_kinds=(DEVICE_KIND,),
            runtime=DEVICE_KIND,
            priority=20,
            architectures=tuple(PROCESSORS),
            description="AMD GPUs through AMDGPU code objects and HIP",
            tuning_options=frozenset(("waves_per_eu", "matrix_instr_nonkdim", "kpack", "xcds")),
        )
    ]


@hookimpl
def tri_knobs() -> Sequence[KnobGroup]:
    """Knobs for the paths of tools."""
    from tri_backend_amd.knobs import KNOBS

    return [KNOBS]


@hookimpl
def tri_adapters() -> Sequence[FrameworkAdapter]:
    """PyTorch's tensors in its builds for ROCm."""
    from tri_backend_amd.adapters import ADAPTERS

    return ADAPTERS


@hookimpl
def tri_language() -> Sequence[LanguageExtension]:
    """``tl.extra.hip``, ``gl.amd``, and the answers of ``tl.target_info``."""
    from tri_backend_amd.queries import QUERIES

    return [
        LanguageExtension(
            namespace="hip",
            module="tri_backend_amd.language",
            targets=("amd",),
            queries=QUERIES,
        ),
        LanguageExtension(namespace="gluon.amd", module="tri_backend_amd.language.gluon", targets=("amd",)),
    ]


@hookimpl
def tri_register_ir(registry: IRRegistry) -> None:
    """The machine ops, the encodings, their text, and the passes."""
    from tri_backend_amd.dialect import AMDG, encodings
    from tri_backend_amd.mfma import encoding, machine, scaled_machine
    from tri_backend_amd.passes.accelerate_dot_scaled import AccelerateDotScaled
    from tri_backend_amd.passes.block_ping_pong import BlockPingPong
    from tri_backend_amd.passes.convert_to_buffer_ops import ConvertToBufferOps
    from tri_backend_amd.passes.lay_out_copies import LayOutCopies
    from tri_backend_amd.passes.remap_programs import RemapPrograms
    from tri_backend_amd.passes.share_peeled_iteration import SharePeeledIteration
    from tri_backend_amd.passes.transpose_in_thread import TransposeInThread
    from tri_backend_amd.passes.uniform_offsets import UniformOffsets
    from tri_backend_amd.passes.upcast_scaled_operands import UpcastScaledOperands
    from tri_backend_amd.wmma import encoding as wmma_encoding
    from tri_backend_amd.wmma import machine as wmma_machine

    del (
        encoding,
        encodings,
        machine,
        scaled_machine,
        wmma_encoding,
        wmma_machine,
    )  # what they define is part of the dialect from here on
    registry.add_dialect(AMDG)
    registry.add_text("amdg", "tri_backend_amd.dialect.text")
    registry.add_pass(UniformOffsets)
    registry.add_pass(UpcastScaledOperands)
    registry.add_pass(AccelerateDotScaled)
    registry.add_pass(TransposeInThread)
    registry.add_pass(SharePeeledIteration)
    registry.add_pass(BlockPingPong)
    registry.add_pass(RemapPrograms)
    registry.add_pass(LayOutCopies)
    registry.add_pass(ConvertToBufferOps)


@hookimpl
def tri_lowering(table: LoweringTable, target: Target, options: CommonOptions) -> None:
    """Buffer access for AMD targets."""
    del options
    if target.key.backend == "amd":
        from tri_backend_amd.lowering import add_rules

        add_rules(table)


@hookimpl
def tri_probe(backend: str) -> Sequence[DeviceInfo]:
    """The GPUs that HIP reports; none without HIP."""
    del backend
    from tri_backend_amd.runtime.devices import probe

    return probe()


@hookimpl
def tri_target(backend: str, key: TargetKey, device: DeviceInfo | None) -> Target:
    """The target of ``key``, or that of ``device`` when it names no architecture."""
    del backend
    from tri_backend_amd.architectures import target

    return target(key, device)


@hookimpl
def tri_abi(target: Target) -> KernelABI:
    """The usual one, and arrays that one buffer descriptor reaches."""
    del target
    from tri_backend_amd.dialect.buffers import AROUND
    from tri_core.api import KernelABI

    return KernelABI(small_array=AROUND.size - AROUND.before)


@hookimpl
def tri_pipeline(target: Target, options: CommonOptions) -> Pipeline:
    """ttir, ttgir, llir, amdgcn, hsaco."""
    from tri_backend_amd.pipeline import pipeline

    return pipeline(target, options)


@hookimpl
def tri_simulation(target: Target) -> Simulation:
    """ttir, ttgir, and the machine ops."""
    del target
    from tri_backend_amd.pipeline import simulated

    return Simulation(pipeline=simulated)


@hookimpl
def tri_runtime(device_kind: str) -> Runtime:
    """HIP through hip-python."""
    del device_kind
    from tri_backend_amd.runtime import HipRuntime

    return HipRuntime()


@hookimpl
def tri_aot(target: Target) -> AotLauncher:
    """Code objects inside of C sources that load HIP themselves."""
    del target
    from tri_backend_amd.aot import launcher

    return launcher()


@hookimpl
def tri_loop_estimates(
    target: Target, metadata: KernelMetadata, asm: Mapping[str, str | bytes]
) -> LoopEstimates:
    """Of the assembly, for CDNA's processors."""
    from tri_backend_amd.cycles import loop_estimates

    return loop_estimates(target, metadata, asm)


@hookimpl
def tri_conformance(target: Target) -> ConformanceProfile:
    """Conformance profile; unsupported features are listed in ``conformance.toml``."""
    from pathlib import Path

    from tri_core.conformance import read_profile

    return read_profile(Path(__file__).with_name("conformance.toml"), target)
