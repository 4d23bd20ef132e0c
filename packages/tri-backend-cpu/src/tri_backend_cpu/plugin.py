"""The plugin: what tri finds through the entry point ``cpu``.

A backend is this file.  Each hook hands core a record or an object and is called when that is first needed;
what they stand for is imported inside of them, so that a process without CPU kernels pays nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tri_core.api import BackendInfo, ConformanceProfile, KernelABI, hookimpl

if TYPE_CHECKING:
    from tri_core.api import (
        AotLauncher,
        CommonOptions,
        DeviceInfo,
        KnobGroup,
        Pipeline,
        Runtime,
        Target,
        TargetKey,
    )

TRI_PLUGIN_API = (1, 0)
TRI_REQUIRES = {"tri-runtime": ">=0.4,<0.5"}


@hookimpl
def tri_backends() -> Sequence[BackendInfo]:
    """One backend, ``cpu``; any live accelerator's is preferred to it when nothing else chooses."""
    from tri_backend_cpu.target import ARCHITECTURES, DEVICE_KIND

    return [
        BackendInfo(
            name="cpu",
            device_kinds=(DEVICE_KIND,),
            runtime=DEVICE_KIND,
            priority=-1,
            architectures=ARCHITECTURES,
            description="this machine's processor: vectorised loops, compiled and run in process",
        )
    ]


@hookimpl
def tri_knobs() -> Sequence[KnobGroup]:
    """Knobs for the number of threads of a kernel."""
    from tri_backend_cpu.knobs import KNOBS

    return [KNOBS]


@hookimpl
def tri_probe(backend: str) -> Sequence[DeviceInfo]:
    """This machine: always one device."""
    del backend
    from tri_backend_cpu.target import host_device

    return [host_device()]


@hookimpl
def tri_target(backend: str, key: TargetKey, device: DeviceInfo | None) -> Target:
    """The target of ``key``; this machine when it names no architecture."""
    del backend
    from tri_backend_cpu.target import make_target

    return make_target(key, device)


@hookimpl
def tri_abi(target: Target) -> KernelABI:
    """The usual specialization: divisibility by 16 (it makes masks uniform), equality to 1 (it makes rows dense)."""
    del target
    return KernelABI(divisibility=16, equal_to_one=True)


@hookimpl
def tri_pipeline(target: Target, options: CommonOptions) -> Pipeline:
    """ttir, llir, asm, object."""
    from tri_backend_cpu.pipeline import pipeline

    return pipeline(target, options)


@hookimpl
def tri_runtime(device_kind: str) -> Runtime:
    """Runs kernels in this process."""
    del device_kind
    from tri_backend_cpu.runtime import CpuRuntime

    return CpuRuntime()


@hookimpl
def tri_aot(target: Target) -> AotLauncher:
    """Objects that C programs link."""
    del target
    from tri_backend_cpu.aot import launcher

    return launcher()


@hookimpl
def tri_conformance(target: Target) -> ConformanceProfile:
    """Conformance profile; unsupported features are listed in ``conformance.toml``."""
    from tri_backend_cpu.conformance import profile

    return profile(target)
