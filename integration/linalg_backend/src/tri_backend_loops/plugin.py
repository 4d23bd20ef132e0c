"""The plugin: what tri finds through the entry point ``loops``, and the device as a target.

A hook imports what it needs itself, so that ``import tri`` stays fast with any number of backends installed.
:mod:`tri_core.hookspecs` documents every hook.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tri_core.api import (
    BackendInfo,
    DeviceInfo,
    LLVMTarget,
    Target,
    TargetError,
    TargetKey,
    TargetSpec,
    hookimpl,
)

if TYPE_CHECKING:
    from tri_core.api import CommonOptions, ConformanceProfile, Pipeline, Runtime

TRI_PLUGIN_API = (1, 1)
TRI_REQUIRES = {"tri-runtime": ">=0.4,<0.5"}

#: the kind of the device, and its one architecture
KIND, ARCHITECTURE = "loops", "l1"
LIMITS = dict.fromkeys(("grid_x", "grid_y", "grid_z"), 2**31 - 1)
#: types that kernels may compute on
_DTYPES = ("i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp16", "fp32", "fp64")


@hookimpl
def tri_backends() -> Sequence[BackendInfo]:
    """One backend, ``loops``; ``priority``: its device is always there, and never the one that is meant."""
    return [
        BackendInfo(
            name="loops",
            device_kinds=(KIND,),
            runtime=KIND,
            priority=-10,
            architectures=(ARCHITECTURE,),
            description="Loops over memory, made by upstream passes",
        )
    ]


@hookimpl
def tri_probe(backend: str) -> Sequence[DeviceInfo]:
    """This process."""
    del backend
    return [DeviceInfo(KIND, 0, ARCHITECTURE, "loops in this process")]


@hookimpl
def tri_target(backend: str, key: TargetKey, device: DeviceInfo | None) -> Target:
    """The target of ``key``; TargetError for an architecture or features that the device does not have."""
    del device
    if key.arch not in ("", ARCHITECTURE) or key.features:
        known = f"known: {backend}:{ARCHITECTURE}"
        raise TargetError(f"unknown Loops target {str(key)!r}", remedy=known)
    import llvmlite.binding as llvm

    spec = TargetSpec(
        limits=LIMITS,
        dtypes=frozenset(_DTYPES),
        dot_precisions=("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"),
        llvm=LLVMTarget(triple=llvm.get_process_triple(), cpu=llvm.get_host_cpu_name()),
    )
    return Target(key=TargetKey(key.backend, ARCHITECTURE), spec=spec, device_kind=KIND)


@hookimpl
def tri_pipeline(target: Target, options: CommonOptions) -> Pipeline:
    """``ttir``, ``linalg`` (upstream dialects), ``llir`` (LLVM IR of loops) and ``image`` (an object)."""
    del target, options
    from tri_core.api import Pipeline, linalg_stage
    from tri_core.passes import DecomposeOps, ScalarizePackedOps, ttir_stage

    from tri_backend_loops.image import image_stage
    from tri_backend_loops.loops import llir_stage

    first = ttir_stage(rewrites=[ScalarizePackedOps(), DecomposeOps()])
    return Pipeline(stages=[first, linalg_stage(), llir_stage(), image_stage()])


@hookimpl
def tri_runtime(device_kind: str) -> Runtime:
    """Launches of images."""
    del device_kind
    from tri_backend_loops.runtime import LoopsRuntime

    return LoopsRuntime()


@hookimpl
def tri_conformance(target: Target) -> ConformanceProfile:
    """Conformance profile; unsupported features are listed in ``conformance.toml``."""
    from pathlib import Path

    from tri_core.conformance import read_profile

    return read_profile(Path(__file__).with_name("conformance.toml"), target)
