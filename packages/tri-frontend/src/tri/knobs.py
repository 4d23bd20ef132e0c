"""Settings, in Triton's groups: ``tri.knobs.cache.dir``, ``tri.knobs.runtime.launch_enter_hook.add(f)``.

A setting is read from the environment (``TRI_...``), from a :func:`tri_core.knobs.scope` in force, or from what
was assigned here, which is for the whole process and those that it starts.  ``None`` goes back to the default.
Hooks are :class:`HookChain` objects; assigning a function replaces all of a chain by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tri.launch.hooks import (
    COMPILED,
    JIT_CACHE,
    JIT_POST_COMPILE,
    KERNEL_LOAD_END,
    KERNEL_LOAD_START,
    KERNEL_UNLOAD,
    LAUNCH_ENTER,
    LAUNCH_EXIT,
    HookChain,
)
from tri_core import knobs
from tri_core.errors import OptionError

__all__ = ["Group", "HookChain", "autotuning", "cache", "compilation", "runtime"]


class Group:
    """Settings of one part of tri: attributes named by ``settings`` and ``hooks``."""

    def __init__(self, name: str, settings: Mapping[str, str], hooks: Mapping[str, HookChain]) -> None:
        self.__dict__.update(_name=name, _settings=dict(settings), _hooks=dict(hooks))

    def __getattr__(self, name: str) -> Any:
        hook = self.__dict__["_hooks"].get(name)
        if hook is not None:
            return hook
        setting = self.__dict__["_settings"].get(name)
        if setting is None:
            raise AttributeError(
                f"tri.knobs.{self.__dict__['_name']} has no {name}; it has {', '.join(dir(self))}",
                name=name,
                obj=self,
            )
        if setting == "CACHE_DIR":
            from tri_core.cache import default_store

            return str(default_store().directory)
        return knobs.get(setting)

    def __setattr__(self, name: str, value: Any) -> None:
        hook = self.__dict__["_hooks"].get(name)
        if hook is not None:
            hook.replace(_calls(value))
            return
        setting = self.__dict__["_settings"].get(name)
        if setting is None:
            raise OptionError(
                f"tri.knobs.{self.__dict__['_name']} has no setting {name!r}",
                remedy=f"it has {', '.join(dir(self))}",
            )
        knobs.assign(setting, value)

    def __dir__(self) -> list[str]:
        return sorted([*self.__dict__["_settings"], *self.__dict__["_hooks"]])

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Undo, at the end of the ``with`` block, all that was assigned or added inside of it."""
        before = {name: knobs.assigned(name) for name in self.__dict__["_settings"].values()}
        calls = {name: list(chain.calls) for name, chain in self.__dict__["_hooks"].items()}
        try:
            yield
        finally:
            for name, value in before.items():
                knobs.assign(name, value)
            for name, chain in self.__dict__["_hooks"].items():
                chain.replace(calls[name])


def _calls(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value.calls) if isinstance(value, HookChain) else [value]


def _tuning_listeners() -> HookChain:
    from tri.tuning.report import LISTENERS

    return LISTENERS


cache = Group("cache", {"dir": "CACHE_DIR", "size": "CACHE_SIZE", "dump_dir": "DUMP_DIR"}, {})
compilation = Group(
    "compilation",
    {
        "always_compile": "ALWAYS_COMPILE",
        "no_compile": "NO_COMPILE",
        "line_info": "LINE_INFO",
        "verify": "VERIFY",
        "timeout": "CODEGEN_TIMEOUT",
        "workers": "CODEGEN_WORKERS",
        "fp_fusion": "FP_FUSION",
        "no_fp_fusion": "NO_FP_FUSION",
        "dot_precision": "DOT_PRECISION",
        "triton_version": "TRITON_VERSION",
    },
    {"listener": COMPILED},
)
runtime = Group(
    "runtime",
    {"debug": "DEBUG", "target": "TARGET"},
    {
        "jit_cache_hook": JIT_CACHE,
        "jit_post_compile_hook": JIT_POST_COMPILE,
        "launch_enter_hook": LAUNCH_ENTER,
        "launch_exit_hook": LAUNCH_EXIT,
        "kernel_load_start_hook": KERNEL_LOAD_START,
        "kernel_load_end_hook": KERNEL_LOAD_END,
        "kernel_unload_hook": KERNEL_UNLOAD,
    },
)
autotuning = Group(
    "autotuning",
    {
        "cache": "AUTOTUNE_CACHE",
        "deterministic": "AUTOTUNE_DETERMINISTIC",
        "print": "AUTOTUNE_PRINT",
        "progress": "AUTOTUNE_PROGRESS",
    },
    {"listener": _tuning_listeners()},
)
