"""Compiling and loading with the hooks of users called around, and what knobs say of a launch's options."""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tri.launch.hooks import (
    COMPILED,
    JIT_CACHE,
    JIT_POST_COMPILE,
    KERNEL_LOAD_END,
    KERNEL_LOAD_START,
    KERNEL_UNLOAD,
    HookChain,
    cache_hook_facts,
)
from tri_core import knobs
from tri_core.errors import CompileRefused

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri_core.compiler import CompiledKernel
    from tri_core.runtime import LoadedKernel, Runtime
    from tri_core.target import DeviceInfo, Target

__all__ = [
    "CHOICES",
    "VERSIONS",
    "Skipped",
    "add_knobs",
    "compile_reported",
    "is_trial",
    "load_reported",
    "trials",
]

#: called with source, target and options of every version that a launch needs for the first time in this process
VERSIONS = HookChain()
#: called after every tuning with the kernel, the target, the key and the digest of configurations that name the choice in
#: the store, the text of the configuration and its times (ms)
CHOICES = HookChain()
_is_trial: ContextVar[bool] = ContextVar("tri_is_trial", default=False)


class Skipped(Exception):
    """A hook forbids to compile, and the launch is left out."""


def is_trial() -> bool:
    """True if a tuner tries a version: see :func:`trials`."""
    return _is_trial.get()


@contextmanager
def trials() -> Iterator[None]:
    """Inside the ``with`` block a tuner tries versions: they are not what the program launches."""
    token = _is_trial.set(True)
    try:
        yield
    finally:
        _is_trial.reset(token)


def compile_reported(
    source: ASTSource, target: Target, options: dict[str, Any], *, warmup: bool
) -> CompiledKernel:
    """Compile; CompileRefused, or Skipped, where a hook forbids it."""
    from tri_core.compiler import compile as compile_source
    from tri_core.compiler.observe import stage_times

    if not _is_trial.get():
        VERSIONS(source, target, options)
    if not JIT_CACHE and not JIT_POST_COMPILE and not COMPILED:
        return compile_source(source, target, options)
    before = cache_hook_facts(source, str(target), options, warmup=warmup, cached=False)
    if JIT_CACHE(**before):
        if JIT_CACHE.skips:
            raise Skipped
        raise CompileRefused(
            f"a jit_cache_hook forbids to compile {source.name} for {target}",
            remedy="compile it before, or remove the hook from tri.knobs.runtime.jit_cache_hook",
            reasons=("forbidden by a hook",),
        )
    start = time.perf_counter()
    with stage_times() as stages:
        kernel = compile_source(source, target, options)
    seconds = time.perf_counter() - start
    COMPILED(source=source, kernel=kernel, stages=stages, seconds=seconds, cached=not stages)
    JIT_POST_COMPILE(**before | {"already_compiled": True})
    return kernel


def load_reported(owner: Runtime, kernel: CompiledKernel, device: DeviceInfo) -> LoadedKernel:
    """Load ``kernel`` on ``device``; the hook of unloading is called when nothing holds what was loaded any more."""
    KERNEL_LOAD_START(kernel, None)
    loaded = owner.load(kernel.image, device)
    kernel.loaded.update(getattr(loaded, "resources", {}))
    kernel.handles[:] = [*(handle for handle in kernel.handles if handle() is not None), weakref.ref(loaded)]
    KERNEL_LOAD_END(kernel, loaded)
    if KERNEL_UNLOAD:
        weakref.finalize(loaded, KERNEL_UNLOAD, kernel, None).atexit = False
    return loaded


def add_knobs(options: dict[str, Any]) -> None:
    """Add what knobs say to the options of a call."""
    if knobs.get("DEBUG"):
        options["debug"] = True
    if knobs.get("NO_FP_FUSION"):
        options["enable_fp_fusion"] = False
    elif not knobs.get("FP_FUSION"):
        options.setdefault("enable_fp_fusion", False)
    precision = knobs.get("DOT_PRECISION")
    if precision is not None:
        options.setdefault("default_dot_input_precision", precision)
