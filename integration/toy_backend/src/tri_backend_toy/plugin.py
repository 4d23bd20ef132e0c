"""The plugin: what tri finds through the entry point ``toy``.

A hook says what there is and imports what it needs itself, so that ``import tri`` stays fast with any number
of backends installed.  :mod:`tri_core.hookspecs` documents every hook.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tri_core.api import AccessModifier, BackendInfo, LanguageExtension, Scope, Simulation, hookimpl

if TYPE_CHECKING:
    from tri_core.api import (
        CommonOptions,
        ConformanceProfile,
        DeviceInfo,
        InductorInfo,
        Pipeline,
        Policy,
        Runtime,
        Target,
        TargetKey,
    )
    from tri_core.mlir import IRRegistry

TRI_PLUGIN_API = (1, 1)
TRI_REQUIRES = {"tri-gpu-dialect": ">=0.1,<0.5", "tri-runtime": ">=0.4,<0.5"}


@hookimpl
def tri_backends() -> Sequence[BackendInfo]:
    """One backend, ``toy``, for devices of kind ``toy``."""
    from tri_backend_toy.architectures import ARCHITECTURES, DEVICE_KIND

    return [
        BackendInfo(
            name="toy",
            device_kinds=(DEVICE_KIND,),
            runtime=DEVICE_KIND,
            priority=-10,  # its device is always there, and never the one that is meant
            architectures=tuple(ARCHITECTURES),
            description="Toy devices",
        )
    ]


@hookimpl
def tri_language() -> Sequence[LanguageExtension]:
    """Namespace ``tl.extra.toy``: a modifier, a scope and a type for kernels that run on toys."""
    return [
        LanguageExtension(
            namespace="toy",
            module="",
            targets=("toy",),
            modifiers={"cache": AccessModifier(values=("keep", "stream"))},
            scopes={"streaming": Scope(ops=("tt.load", "tt.store"))},
            types={"Window": "tri_backend_toy.language:Window"},
        )
    ]


@hookimpl
def tri_probe(backend: str) -> Sequence[DeviceInfo]:
    """The devices of this machine; none without a driver."""
    del backend
    from tri_backend_toy.runtime import probe

    return probe()


@hookimpl
def tri_target(backend: str, key: TargetKey, device: DeviceInfo | None) -> Target:
    """The target of ``key``, or that of ``device`` when it names no architecture."""
    del backend
    from tri_backend_toy.architectures import target

    return target(key, device)


@hookimpl
def tri_register_ir(registry: IRRegistry) -> None:
    """The machine ops."""
    from tri_backend_toy.machine import TOY

    registry.add_dialect(TOY)


@hookimpl
def tri_policy(target: Target, options: CommonOptions) -> Policy:
    """Policy of the device for the optimizer."""
    del target, options
    from tri_backend_toy.pipeline import POLICY

    return POLICY


@hookimpl
def tri_pipeline(target: Target, options: CommonOptions) -> Pipeline:
    """From a kernel to an image for the driver."""
    from tri_backend_toy.pipeline import pipeline

    return pipeline(target, options)


@hookimpl
def tri_simulation(target: Target) -> Simulation:
    """From a kernel to machine ops, for ``sim:toy:t1``."""
    del target
    from tri_backend_toy.pipeline import simulated

    return Simulation(pipeline=simulated)


@hookimpl
def tri_runtime(device_kind: str) -> Runtime:
    """Memory and launches through the driver."""
    del device_kind
    from tri_backend_toy.runtime import ToyRuntime

    return ToyRuntime()


@hookimpl
def tri_inductor(target: Target) -> InductorInfo:
    """Numbers and heuristics for PyTorch's Inductor."""
    from tri_backend_toy.inductor import inductor

    return inductor(target)


@hookimpl
def tri_conformance(target: Target) -> ConformanceProfile:
    """Conformance profile; unsupported features are listed in ``conformance.toml``."""
    from pathlib import Path

    from tri_core.conformance import read_profile

    return read_profile(Path(__file__).with_name("conformance.toml"), target)
