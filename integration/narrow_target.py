"""A made-up target that computes like the CPU's and declares no 64-bit floats: kernels for it must hold none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType

from tri_backend_cpu import plugin as cpu
from tri_core.api import BackendInfo, DeviceInfo, Target, TargetKey, hookimpl

__all__ = ["NAME", "plugin"]

NAME = "narrow"
_INHERITED = (
    "tri_knobs",
    "tri_probe",
    "tri_abi",
    "tri_pipeline",
    "tri_runtime",
    "TRI_PLUGIN_API",
    "TRI_REQUIRES",
)


@hookimpl
def tri_backends() -> Sequence[BackendInfo]:
    """The CPU's record under another name."""
    (info,) = cpu.tri_backends()
    return [replace(info, name=NAME)]


@hookimpl
def tri_target(backend: str, key: TargetKey, device: DeviceInfo | None) -> Target:
    """The CPU's target without ``fp64``."""
    target = cpu.tri_target(backend, TargetKey("cpu", key.arch, key.features), device)
    spec = target.spec
    kept = replace(spec, dtypes=spec.dtypes - {"fp64"}, emulated_dtypes=spec.emulated_dtypes - {"fp64"})
    return replace(target, key=replace(target.key, backend=NAME), spec=kept)


def plugin() -> ModuleType:
    """The module of hooks."""
    module = ModuleType("tri_narrow_target")
    hooks = {name: getattr(cpu, name) for name in _INHERITED}
    vars(module).update(hooks, tri_backends=tri_backends, tri_target=tri_target)
    return module
