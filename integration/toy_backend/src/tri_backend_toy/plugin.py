"""The hooks of the toy backend; everything heavy is imported inside them."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.api import (
    BackendInfo,
    CommonOptions,
    DeviceInfo,
    KernelABI,
    Pipeline,
    Runtime,
    Target,
    TargetError,
    TargetKey,
    TargetSpec,
    hookimpl,
)

TRI_PLUGIN_API = (1, 0)
ARCHITECTURES = ("t1",)


@hookimpl
def tri_backends() -> Sequence[BackendInfo]:
    """One backend, never chosen on its own."""
    return [
        BackendInfo(
            name="toy", device_kinds=("toy",), runtime="toy", priority=-10, architectures=ARCHITECTURES
        )
    ]


@hookimpl
def tri_probe(backend: str) -> Sequence[DeviceInfo]:
    """The machine is always there."""
    return [DeviceInfo(kind="toy", index=0, arch="t1", name="toy machine")]


@hookimpl
def tri_target(backend: str, key: TargetKey) -> Target:
    """The one architecture."""
    arch = key.arch or "t1"
    if arch not in ARCHITECTURES:
        raise TargetError(
            f"unknown architecture {arch!r} of {backend}", remedy=f"known: {', '.join(ARCHITECTURES)}"
        )
    spec = TargetSpec(dtypes=frozenset({"i1", "i8", "i16", "i32", "i64", "fp32", "fp64"}))
    return Target(key=TargetKey("toy", arch), spec=spec, device_kind="toy")


@hookimpl
def tri_abi(target: Target) -> KernelABI:
    """Triton's rules."""
    return KernelABI()


@hookimpl
def tri_pipeline(target: Target, options: CommonOptions) -> Pipeline:
    """TTIR, then its text as the image."""
    from tri_backend_toy.compiler import pipeline

    return pipeline()


@hookimpl
def tri_runtime(device_kind: str) -> Runtime:
    """The machine."""
    from tri_backend_toy.runtime import ToyRuntime

    return ToyRuntime()
