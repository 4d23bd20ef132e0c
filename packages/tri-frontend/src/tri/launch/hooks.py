"""Chains of callables around launches and compiles, which a user extends while kernels run.

``tri.knobs.runtime`` has them: ``launch_enter_hook``, ``launch_exit_hook`` (each called with a
:class:`LaunchFacts`), ``jit_cache_hook`` and ``jit_post_compile_hook`` (called with keywords, see
:func:`cache_hook_facts`), ``kernel_load_start_hook``, ``kernel_load_end_hook`` and ``kernel_unload_hook`` (called with
the compiled kernel and what the driver loaded; None before).  ``tri.knobs.compilation.listener`` is called after every
compile with keywords: ``source``, ``kernel``, ``stages`` (pairs of name and seconds), ``seconds``, ``cached``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri.kernel import Kernel
    from tri_core.compiler import CompiledKernel
    from tri_core.target import TargetKey

__all__ = [
    "COMPILED",
    "JIT_CACHE",
    "JIT_POST_COMPILE",
    "KERNEL_LOAD_END",
    "KERNEL_LOAD_START",
    "KERNEL_UNLOAD",
    "LAUNCH_ENTER",
    "LAUNCH_EXIT",
    "HookChain",
    "JitFunctionInfo",
    "LaunchFacts",
    "cache_hook_facts",
]

Hook = Callable[..., Any]


class HookChain:
    """Callables that are called in order; ``reversed`` ones in the opposite order.

    ``calls`` is the list itself, changed in place, so that a launch looks at one object for good.  ``skips``: a launch
    whose compile a hook of this chain forbids does nothing, where it would raise.
    """

    skips = False

    def __init__(self, reversed: bool = False) -> None:
        self.calls: list[Hook] = []
        self.reversed = reversed

    def add(self, func: Hook) -> None:
        """Call ``func`` too; a second time changes nothing."""
        if func not in self.calls:
            self.calls.append(func)

    def remove(self, func: Hook) -> None:
        """Do not call ``func`` any more."""
        if func in self.calls:
            self.calls.remove(func)

    def replace(self, hooks: list[Hook]) -> None:
        """Call ``hooks`` and no others."""
        self.calls[:] = hooks

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        """Call all; whether one of them gave something true."""
        calls = list(self.calls)
        answers = [call(*args, **kwargs) for call in (calls[::-1] if self.reversed else calls)]
        return any(answers)  # after all were called

    def __bool__(self) -> bool:
        return bool(self.calls)

    def __repr__(self) -> str:
        return f"HookChain({self.calls!r})"


LAUNCH_ENTER = HookChain()
LAUNCH_EXIT = HookChain(reversed=True)
JIT_CACHE = HookChain()
JIT_POST_COMPILE = HookChain()
KERNEL_LOAD_START = HookChain()
KERNEL_LOAD_END = HookChain(reversed=True)
KERNEL_UNLOAD = HookChain()
COMPILED = HookChain()


class LaunchFacts:
    """Facts for a launch hook: ``get()`` gives a dictionary, made at its first call.

    It has ``name``, ``hash`` (of the compiled kernel), ``grid``, ``stream``, and all that the kernel's
    ``launch_metadata(grid, metadata, arguments)`` adds.
    """

    __slots__ = ("_arguments", "_base", "_extend", "_made", "_metadata")

    def __init__(
        self,
        kernel: CompiledKernel,
        grid: tuple[int, int, int],
        stream: int | None,
        extend: Callable[..., Mapping[str, Any]] | None,
        arguments: Callable[[], dict[str, Any]],
    ) -> None:
        self._base = {"name": kernel.name, "hash": kernel.hash, "grid": grid, "stream": stream}
        self._metadata = kernel.metadata
        self._extend = extend
        self._arguments = arguments
        self._made: dict[str, Any] | None = None

    @property
    def target(self) -> TargetKey:
        """The target that the kernel was compiled for."""
        return self._metadata.target

    def get(self) -> dict[str, Any]:
        """The facts."""
        if self._made is None:
            made: dict[str, Any] = dict(self._base)
            if self._extend is not None:
                made |= self._extend(self._base["grid"], self._metadata, self._arguments())
            self._made = made
        return self._made

    def __getitem__(self, name: str) -> Any:
        return self.get()[name]


class JitFunctionInfo(NamedTuple):
    """A kernel as the compile hooks see it."""

    module: str
    name: str
    jit_function: Kernel


def cache_hook_facts(
    source: ASTSource, target: str, options: Mapping[str, Any], *, warmup: bool, cached: bool
) -> dict[str, Any]:
    """The keywords of ``jit_cache_hook`` and ``jit_post_compile_hook``.

    ``compile["specialization_data"]`` is what :meth:`tri.JITFunction.preload` takes.
    """
    from tri.launch.specialization_data import specialization_data

    function = source.fn
    key = source.fingerprint()
    arguments = ", ".join(f"{name}: {text}" for name, text in source.texts().items())
    return {
        "key": key,
        "repr": f"{function.__name__}[{', '.join(f'{k}={v}' for k, v in options.items())}]({arguments})",
        "fn": JitFunctionInfo(function.__module__, function.__qualname__, function),
        "compile": {
            "signature": source.texts(),
            "constants": dict(source.constants),
            "configs": [dict(source.attrs)],
            **options,
            "key": key,
            "target": target,
            "specialization_data": specialization_data(source, target, options),
            "is_warmup": warmup,
        },
        "is_manual_warmup": warmup,
        "already_compiled": cached,
    }
