"""What stands around a kernel and is launched in its place."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tri.jit import JITFunction
from tri_core.errors import LaunchError

__all__ = ["LAUNCH_KEYWORDS", "Wrapper"]

#: keywords of ``run`` that are not the kernel's
LAUNCH_KEYWORDS = ("grid", "warmup")


class Wrapper:
    """Base of :class:`Autotuner` and :class:`Heuristics`: ``fn`` is the kernel, or another wrapper of it."""

    __name__: str
    __qualname__: str

    def __init__(self, fn: Any, arg_names: list[str]) -> None:
        for name in functools.WRAPPER_ASSIGNMENTS:
            if hasattr(fn, name):
                setattr(self, name, getattr(fn, name))
        self.fn = fn
        self.arg_names = list(arg_names)

    @property
    def base_fn(self) -> JITFunction:
        """The kernel below all wrappers."""
        inner = self.fn
        while not isinstance(inner, JITFunction) and hasattr(inner, "fn"):
            inner = inner.fn
        base: JITFunction = inner
        return base

    def run(self, /, *args: Any, **kwargs: Any) -> Any:
        """Launch over ``grid=``, or only compile with ``warmup=True``."""
        raise NotImplementedError

    def warmup(self, /, *args: Any, grid: Any = (1,), **kwargs: Any) -> Any:
        """Compile without launching."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """The kernel over ``grid``."""

        def start(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = self._by_position(args, kwargs)
            return self.run(*args, grid=grid, warmup=False, **kwargs)

        return start

    def _by_position(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with those by position that have a name of :meth:`run`'s own keywords."""
        reserved = [
            self.arg_names.index(name)
            for name in LAUNCH_KEYWORDS
            if name in kwargs and name in self.arg_names
        ]
        if not reserved:
            return args, kwargs
        moved = self.arg_names[len(args) : max(reserved) + 1]
        missing = [name for name in moved if name not in kwargs]
        if missing:
            raise LaunchError(
                f"{self.__name__} has a parameter {self.arg_names[max(reserved)]!r}, which wrappers of kernels use too",
                remedy=f"give it, and {', '.join(missing)} before it, by position",
            )
        rest = {name: value for name, value in kwargs.items() if name not in moved}
        return (*args, *(kwargs[name] for name in moved)), rest

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.fn!r})"
