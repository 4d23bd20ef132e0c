"""The plugin: what tri finds through the entry point ``riscv``.

Kernels become LLVM IR as the CPU backend writes it, loops of vector instructions over the programs of a grid; what is
made of that is ours (``image.py``), and so is what starts it (``runtime.py``).  A hook imports what it needs itself, so that
``import tri`` stays fast with any number of backends installed.  :mod:`tri_core.hookspecs` documents every hook.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tri_core.api import BackendInfo, KernelABI, TargetKey, hookimpl

if TYPE_CHECKING:
    from tri_core.api import (
        CommonOptions,
        ConformanceProfile,
        DeviceInfo,
        KnobGroup,
        Pipeline,
        Runtime,
        Target,
    )

TRI_PLUGIN_API = (1, 1)
TRI_REQUIRES = {"tri-backend-cpu": ">=0.3,<0.4"}


@hookimpl
def tri_backends() -> Sequence[BackendInfo]:
    """One backend, ``riscv``, for processors with registers of 128 and of 256 bits.

    ``priority``: an emulator is never the device that is meant.
    """
    from tri_backend_riscv.processors import PROCESSORS

    return [
        BackendInfo(
            name="riscv",
            device_kinds=("riscv",),
            runtime="riscv",
            priority=-10,
            architectures=tuple(PROCESSORS),
            description="RISC-V vector code, run by QEMU's user mode",
        )
    ]


@hookimpl
def tri_probe(backend: str) -> Sequence[DeviceInfo]:
    """The emulator's devices; none where it is not installed."""
    del backend
    from tri_backend_riscv.runtime import probe

    return probe()


@hookimpl
def tri_knobs() -> Sequence[KnobGroup]:
    """Knobs for the emulator."""
    from tri_backend_riscv.knobs import KNOBS

    return [KNOBS]


@hookimpl
def tri_target(backend: str, key: TargetKey, device: DeviceInfo | None) -> Target:
    """The target of ``key``: LLVM's triple, processor and features, and the widths that lowering may use."""
    del backend
    from tri_backend_riscv.processors import processor_target

    return processor_target(key, device)


@hookimpl
def tri_abi(target: Target) -> KernelABI:
    """Facts that kernels are specialized for, as the CPU's lowering expects them."""
    from tri_backend_cpu.plugin import tri_abi as cpu_abi

    return cpu_abi(target)


@hookimpl
def tri_pipeline(target: Target, options: CommonOptions) -> Pipeline:
    """``ttir`` and ``llir`` of the CPU backend, and what we make of LLVM IR."""
    from tri_backend_cpu.pipeline import pipeline
    from tri_core.api import Pipeline

    from tri_backend_riscv.by_lane import ConvertByLane
    from tri_backend_riscv.image import object_stage

    cpu = pipeline(target, options)
    made = Pipeline(stages=[cpu["ttir"], cpu["llir"], object_stage()])
    made["llir"].text_passes.insert("llir.text", ConvertByLane())
    return made


@hookimpl
def tri_runtime(device_kind: str) -> Runtime:
    """Launches under the emulator."""
    del device_kind
    from tri_backend_riscv.runtime import RiscvRuntime

    return RiscvRuntime()


@hookimpl
def tri_conformance(target: Target) -> ConformanceProfile:
    """Conformance profile; unsupported features are listed in ``conformance.toml``."""
    from dataclasses import replace
    from pathlib import Path

    from tri_core.conformance import read_profile
    from tri_core.plugin_records import Assembly

    found = read_profile(Path(__file__).with_name("conformance.toml"), target)
    return replace(found, assembly=Assembly(text="not $0, $1", constraints="=r,r"))
