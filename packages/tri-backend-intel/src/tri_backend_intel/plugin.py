"""The plugin: what tri finds through the entry point ``intel``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tri_core.api import BackendInfo, Simulation, hookimpl

if TYPE_CHECKING:
    from tri_core.api import (
        AotLauncher,
        CommonOptions,
        ConformanceProfile,
        DeviceInfo,
        FrameworkAdapter,
        KnobGroup,
        Pipeline,
        Policy,
        Runtime,
        Target,
        TargetKey,
    )
    from tri_core.mlir import IRRegistry

TRI_PLUGIN_API = (1, 0)
TRI_REQUIRES = {"tri-gpu-dialect": ">=0.4,<0.5", "tri-runtime": ">=0.4,<0.5"}


@hookimpl
def tri_backends() -> Sequence[BackendInfo]:
    """One backend, ``intel``, for GPUs and for the OpenCL device of a CPU, both of kind ``sycl``."""
    from tri_backend_intel.architectures import ARCHITECTURES, DEVICE_KIND

    return [
        BackendInfo(
            name="intel",
            device_kinds=(DEVICE_KIND,),
            runtime=DEVICE_KIND,
            architectures=tuple(ARCHITECTURES),
            description="Intel GPUs, and Intel's OpenCL device for CPUs, through SPIR-V and SYCL",
            triton_names=("xpu",),
        )
    ]


@hookimpl
def tri_knobs() -> Sequence[KnobGroup]:
    """Knobs for loading kernels."""
    from tri_backend_intel.knobs import KNOBS

    return [KNOBS]


@hookimpl
def tri_cache_key(target: Target) -> Mapping[str, str]:
    """The identity of ``ocloc``, which chooses the register mode of kernels for GPUs."""
    if target.key.backend != "intel" or target.key.simulated or not target.has("gpu"):
        return {}
    from tri_backend_intel.offline import identity

    return {"ocloc": identity()}


@hookimpl
def tri_adapters() -> Sequence[FrameworkAdapter]:
    """Libraries whose arrays show a ``__sycl_usm_array_interface__``."""
    from tri_backend_intel.adapters import ADAPTERS

    return ADAPTERS


@hookimpl
def tri_register_ir(registry: IRRegistry) -> None:
    """The machine ops, the encoding of DPAS, and the passes."""
    from tri_backend_intel.dialect import TTIG

    registry.add_dialect(TTIG)
    registry.add_passes(
        "tri_backend_intel.transforms",
        "FoldTiles",
        "VersionTiles",
        "PrefetchTiles",
        "SliceDots",
        "LoadDownColumns",
        "UnsignedDivisions",
    )


@hookimpl
def tri_probe(backend: str) -> Sequence[DeviceInfo]:
    """The SYCL devices of Intel; none when there is no driver."""
    del backend
    from tri_backend_intel.runtime.devices import probe

    return probe()


@hookimpl
def tri_target(backend: str, key: TargetKey, device: DeviceInfo | None) -> Target:
    """The target of ``key``, or that of ``device`` when it names no architecture."""
    del backend
    from tri_backend_intel.architectures import target

    return target(key, device)


@hookimpl
def tri_pipeline(target: Target, options: CommonOptions) -> Pipeline:
    """ttir, ttgir, llir, spv."""
    from tri_backend_intel.pipeline import pipeline

    return pipeline(target, options)


@hookimpl
def tri_policy(target: Target, options: CommonOptions) -> Policy:
    """Policy for the width of lanes' memory accesses, and the matrix instructions."""
    from tri_backend_intel.pipeline import policy

    return policy(target, options)


@hookimpl
def tri_simulation(target: Target) -> Simulation:
    """ttir, ttgir, and the machine ops."""
    del target
    from tri_backend_intel.pipeline import simulated
    from tri_backend_intel.simulation import externals

    return Simulation(pipeline=simulated, externals=externals)


@hookimpl
def tri_runtime(device_kind: str) -> Runtime:
    """SYCL through dpctl."""
    del device_kind
    from tri_backend_intel.runtime import IntelRuntime

    return IntelRuntime()


@hookimpl
def tri_aot(target: Target) -> AotLauncher:
    """SPIR-V inside of C sources that open Level Zero's loader themselves."""
    from tri_backend_intel.aot import launcher

    return launcher(target)


@hookimpl
def tri_conformance(target: Target) -> ConformanceProfile:
    """Conformance profile; unsupported features are listed in ``conformance.toml``."""
    from pathlib import Path

    from tri_core.conformance import read_profile

    return read_profile(Path(__file__).with_name("conformance.toml"), target)
