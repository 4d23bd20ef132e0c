"""Hooks and listeners as Triton's programs set them: attributes of ``triton.knobs`` that are in force on tri's chains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tri.compat.triton.cache import get_cache_manager
from tri.compat.triton.groups import is_in_force
from tri.compat.triton.settings import CompileTimes, base_knobs
from tri.compat.triton.targets import gpu_target
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
from tri.tuning.report import LISTENERS

__all__ = [
    "AutotuneListener",
    "CompilationListener",
    "Files",
    "Hooks",
    "InitHandleHook",
    "JITHook",
    "JITHookCompileInfo",
    "LaunchHook",
    "Listener",
    "Listening",
    "autotune_listener",
    "compilation_listener",
]

Hook = Callable[..., Any]


#: called after every compile with keywords: ``src``, ``metadata``, ``metadata_group`` (paths of files by name), ``times``
#: (a :class:`CompileTimes`), ``cache_hit``
CompilationListener = Callable[..., None]
#: called after every tuning with keywords: ``fn``, ``key``, ``best_config``, ``configs_timings``, ``duration`` in seconds
#: (None where the choice was kept from before), ``cache_hit``
AutotuneListener = Callable[..., None]
#: called before or after a compile with keywords: ``key``, ``repr``, ``fn``, ``compile``, ``is_manual_warmup``,
#: ``already_compiled``
JITHook = Callable[..., "bool | None"]
#: what a JITHook gets as ``compile``
JITHookCompileInfo = dict[str, Any]
#: called before or after a launch with what is known of it (``get()`` gives a dictionary)
LaunchHook = Callable[[Any], None]
#: called around the loading of a kernel, and when it is freed, with what is loaded (twice), name, files and hash
InitHandleHook = Callable[..., None]


class Files(Mapping[str, str]):
    """The stages of ``kernel`` as paths of files, each written when it is asked for."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._stages = {f"{kernel.name}.{stage}": stage for stage in kernel.asm}

    def __getitem__(self, name: str) -> str:
        return get_cache_manager(self._kernel.hash).put(self._kernel.asm[self._stages[name]], name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._stages)

    def __len__(self) -> int:
        return len(self._stages)


# --- listeners ----------------------------------------------------------------------------------------------


def compilation_listener(listener: CompilationListener) -> Hook:
    """Hook in tri's chain that calls ``listener``."""

    def compiled(
        *, source: Any, kernel: Any, stages: list[tuple[str, float]], seconds: float, cached: bool
    ) -> None:
        from tri_core.target_selection import resolve

        lowered = [(name, _microseconds(spent)) for name, spent in stages]
        rest = _microseconds(seconds - sum(spent for _, spent in stages))
        # what is beside the stages is the source's way to a module, and the entry in the store
        times = CompileTimes(rest - rest // 2, lowered, 0 if cached else max(rest // 2, 1))
        metadata = {
            **kernel.metadata.options,
            "hash": kernel.hash,
            "name": kernel.name,
            "target": gpu_target(resolve(kernel.metadata.target)),
        }
        listener(src=source, metadata=metadata, metadata_group=Files(kernel), times=times, cache_hit=cached)

    return compiled


def _microseconds(seconds: float) -> int:
    return max(1, round(1e6 * seconds))


def autotune_listener(listener: AutotuneListener) -> Hook:
    """Hook in tri's chain that calls ``listener``."""

    def tuned(
        *, fn: Any, key: Any, best_config: Any, timings: Any, seconds: float, cached: bool, **_: Any
    ) -> None:
        listener(
            fn=fn.base_fn,
            key=key,
            best_config=best_config,
            configs_timings=timings,
            duration=None if cached else seconds,
            cache_hit=cached,
        )

    return tuned


#: maker of what a chain calls -> the chain
_CHAINS: dict[Hook, HookChain] = {compilation_listener: COMPILED, autotune_listener: LISTENERS}


class Listener:
    """An attribute that holds None or one callable, which ``adapt`` turns into what tri's chain calls.

    It is called while the group that has it is in force (:class:`Listening`).
    """

    def __init__(self, adapt: Hook) -> None:
        self.adapt = adapt
        self.chain = _CHAINS[adapt]
        self._mine: Hook | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        return self if obj is None else vars(obj).get(self.name)

    def __set__(self, obj: Any, value: Any) -> None:
        vars(obj)[self.name] = value
        if is_in_force(obj):
            self.put(value)

    def put(self, value: Any) -> None:
        """Have ``value`` called, and nothing that was set here before."""
        if self._mine is not None:
            self.chain.remove(self._mine)
        self._mine = None if value is None else self.adapt(value)
        if self._mine is not None:
            self.chain.add(self._mine)


class Listening(base_knobs):
    """A group with listeners: its own are called while it is in force."""

    def put(self) -> None:
        """Have the group's own listeners called."""
        for listener in vars(type(self)).copy().values():
            if isinstance(listener, Listener):
                listener.put(getattr(self, listener.name))

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if is_in_force(self):
            self.put()


# --- hooks --------------------------------------------------------------------------------------------------


class _Chain:
    """An attribute that is one of tri's chains; a ``single`` one reads as None, or as the one function in it."""

    def __init__(self, chain: HookChain, *, single: bool = False) -> None:
        self.chain = chain
        self.single = single

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        if not self.single or len(self.chain.calls) > 1:
            return self.chain
        return self.chain.calls[0] if self.chain.calls else None

    def __set__(self, obj: Any, value: Any) -> None:
        calls = value.calls if isinstance(value, HookChain) else [value]
        self.chain.replace([] if value is None else list(calls))


def _reported(theirs: HookChain) -> Hook:
    """Calls ``theirs`` with what Triton's hooks of loading get."""

    def tell(kernel: Any, loaded: Any) -> None:
        if theirs:
            theirs(loaded, loaded, kernel.name, Files(kernel), kernel.hash)

    return tell


_LOAD_START, _LOAD_END, _UNLOAD = HookChain(), HookChain(reversed=True), HookChain()
for _theirs, _ours in (
    (_LOAD_START, KERNEL_LOAD_START),
    (_LOAD_END, KERNEL_LOAD_END),
    (_UNLOAD, KERNEL_UNLOAD),
):
    _ours.add(_reported(_theirs))


def link(on: bool) -> None:
    """Set whether launches are skipped, as in Triton, whose compile a ``jit_cache_hook`` forbids."""
    JIT_CACHE.skips = on


class Hooks(base_knobs):
    """A group with hooks: its own while it is in force."""

    launch_enter_hook = _Chain(LAUNCH_ENTER)
    launch_exit_hook = _Chain(LAUNCH_EXIT)
    kernel_load_start_hook = _Chain(_LOAD_START)
    kernel_load_end_hook = _Chain(_LOAD_END)
    kernel_unload_hook = _Chain(_UNLOAD)
    jit_cache_hook = _Chain(JIT_CACHE, single=True)
    jit_post_compile_hook = _Chain(JIT_POST_COMPILE, single=True)

    def take_over(self, other: Hooks) -> None:
        """Keep what is on the chains for the time when this group is in force again; have that of ``other`` on them."""
        vars(self)["_calls"] = _calls()
        kept = vars(other).get("_calls")
        if kept is not None:
            _put(kept)

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "_calls": _calls()}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore({name: value for name, value in state.items() if name != "_calls"})
        _put(state["_calls"])


def _hooks() -> dict[str, HookChain]:
    return {name: hook.chain for name, hook in vars(Hooks).copy().items() if isinstance(hook, _Chain)}


def _calls() -> dict[str, list[Hook]]:
    return {name: list(chain.calls) for name, chain in _hooks().items()}


def _put(calls: Mapping[str, list[Hook]]) -> None:
    for name, chain in _hooks().items():
        chain.replace(calls[name])
