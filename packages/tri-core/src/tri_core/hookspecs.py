"""The hook contract of tri: what a plugin may implement.  This file is the documentation.

A plugin is a module named in the entry-point group ``tri``.  It sets ``TRI_PLUGIN_API`` to the
``(major, minor)`` of this contract that it was written against and implements any of the hooks below,
marked with :data:`hookimpl`::

    from tri_core.api import BackendInfo, hookimpl

    TRI_PLUGIN_API = (1, 0)

    @hookimpl
    def tri_backends():
        return [BackendInfo(name="mine", device_kinds=("mine",), runtime="mine")]

Rules.  Hooks discover and contribute, objects behave: every hook returns frozen records or protocol
objects that core binds once; none is on the launch path, none is called per IR op.  *Collect-all* hooks
may be implemented by any plugin.  *Owner* hooks are called only on the plugin that owns the backend or
device kind in question.  An implementation may take fewer arguments than its hook has, by name, without
defaults.  A plugin module imports the standard library and ``tri_core.api`` only, everything else inside
its hooks.

Optional: ``TRI_REQUIRES = {"tri-gpu-dialect": ">=0.1,<0.3"}`` (checked before any hook is called).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pluggy

from tri_core.knobs import KnobGroup

if TYPE_CHECKING:
    from tri_core.abi import KernelABI
    from tri_core.aot import AotLauncher
    from tri_core.image import KernelMetadata
    from tri_core.loop_estimates import LoopEstimates
    from tri_core.mlir import IRRegistry
    from tri_core.options import CommonOptions
    from tri_core.pipeline import Pipeline
    from tri_core.plugin_records import (
        BackendInfo,
        ConformanceProfile,
        DevicePerformance,
        FrameworkAdapter,
        InductorInfo,
        LanguageExtension,
        Observer,
        Policy,
        Simulation,
    )
    from tri_core.runtime import Runtime
    from tri_core.target import DeviceInfo, Target, TargetKey

__all__ = ["HOOKSPEC_API", "hookimpl", "hookspec"]

#: version of this contract: minor grows with additions, major with anything that breaks a plugin
HOOKSPEC_API = (1, 1)

hookspec = pluggy.HookspecMarker("tri")
hookimpl = pluggy.HookimplMarker("tri")


# --- collect-all, declarative: a failure quarantines the plugin ---------------------------------------


@hookspec
def tri_backends() -> Sequence[BackendInfo]:
    """The backends of this plugin.  Called once, when a backend is first needed."""
    raise NotImplementedError


@hookspec
def tri_knobs() -> Sequence[KnobGroup]:
    """Typed environment knobs of this plugin, each under a prefix of its own.  Called once."""
    raise NotImplementedError


@hookspec
def tri_language() -> Sequence[LanguageExtension]:
    """Additions to the kernel language.  Called once, when the language is first compiled."""
    raise NotImplementedError


@hookspec
def tri_adapters() -> Sequence[FrameworkAdapter]:
    """Array frameworks that this plugin can read.  Called once, at the first launch."""
    raise NotImplementedError


@hookspec
def tri_observers() -> Sequence[Observer]:
    """Listeners for compiles and launches.  Called once per process."""
    raise NotImplementedError


# --- collect-all, code generation: a failure fails the compile, naming the plugin -----------------------


@hookspec
def tri_register_ir(registry: IRRegistry) -> None:
    """Add dialects and named passes.  Called once per process, before the first IR is made."""


@hookspec
def tri_modify_pipeline(pipeline: Pipeline, target: Target, options: CommonOptions) -> None:
    """Insert passes at anchors of ``pipeline``, replace its stages or put others between them.

    Called after :func:`tri_pipeline`, before the key is final.
    """


@hookspec
def tri_lowering(table: Any, target: Target, options: CommonOptions) -> None:
    """Add lowering rules to a :class:`tri_gpu_dialect.lowering.LoweringTable`.  Once per pipeline."""


@hookspec
def tri_cache_key(target: Target) -> Mapping[str, str]:
    """Facts outside of the plugin's own files that change the code it makes (tool versions, say)."""
    raise NotImplementedError


# --- owner only: an error propagates as BackendError, never a fall-back to another backend --------------


@hookspec(firstresult=True)
def tri_probe(backend: str) -> Sequence[DeviceInfo]:
    """The devices present for ``backend``; empty if none.  Lazy, creates no device context."""
    raise NotImplementedError


@hookspec(firstresult=True)
def tri_target(backend: str, key: TargetKey, device: DeviceInfo | None) -> Target:
    """The target for ``key``; an empty ``key.arch`` means that of ``device``.  Works with no device at all.

    Raises :class:`tri_core.errors.TargetError` for an unknown architecture, with the near ones.
    """
    raise NotImplementedError


@hookspec(firstresult=True)
def tri_abi(target: Target) -> KernelABI:
    """Specialisation and passing of arguments.  Once per target."""
    raise NotImplementedError


@hookspec(firstresult=True)
def tri_pipeline(target: Target, options: CommonOptions) -> Pipeline:
    """The stages from TTIR to an image.  Once per compile that misses the memory cache."""
    raise NotImplementedError


@hookspec(firstresult=True)
def tri_policy(target: Target, options: CommonOptions) -> Policy:
    """Costs and choices for shared passes.  Optional: backends that leave at TTIR have none."""
    raise NotImplementedError


@hookspec(firstresult=True)
def tri_runtime(device_kind: str) -> Runtime:
    """The runtime of ``device_kind``.  At the first launch, once per process and kind."""
    raise NotImplementedError


@hookspec(firstresult=True)
def tri_aot(target: Target) -> AotLauncher:
    """Launcher for C programs of images of ``target`` (``tri compile --aot``).  Optional."""
    raise NotImplementedError


@hookspec(firstresult=True)
def tri_simulation(target: Target) -> Simulation:
    """Simulation of kernels for ``target``, as ``sim:backend:arch``.  Optional."""
    raise NotImplementedError


@hookspec(firstresult=True)
def tri_performance(device: DeviceInfo) -> DevicePerformance:
    """Peak rates of a present ``device``, for :mod:`tri.testing`.  Optional."""
    raise NotImplementedError


@hookspec(firstresult=True)
def tri_inductor(target: Target) -> InductorInfo:
    """Properties and heuristics of ``target`` for PyTorch's Inductor.  Optional; asks no device: processes that only compile want them."""
    raise NotImplementedError


@hookspec(firstresult=True)
def tri_loop_estimates(
    target: Target, metadata: KernelMetadata, asm: Mapping[str, str | bytes]
) -> LoopEstimates:
    """Cycles of the loops of a compiled kernel, by what its stages made (``asm``, by stage).  Optional; asks no device."""
    raise NotImplementedError


@hookspec(firstresult=True)
def tri_conformance(target: Target) -> ConformanceProfile:
    """Profile of ``target`` for the conformance kit."""
    raise NotImplementedError
