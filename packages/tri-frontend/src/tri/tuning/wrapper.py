"""Wrappers of a kernel that are launched in its place."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from tri.jit import JITFunction
from tri.launch.request import start, warm_up_keywords
from tri_core.errors import TriError
from tri_core.tracebacks import shorten

__all__ = ["Wrapper"]


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

    def warmup(self, /, *args: Any, **kwargs: Any) -> Any:
        """Compile without launching; ``grid=`` may be given."""
        try:
            return self.run(*args, **warm_up_keywords(self.arg_names, kwargs))
        except TriError as error:
            shorten(error)
            raise

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """The kernel over ``grid``."""
        return functools.partial(start, self, grid)

    #: attributes that belong to one process: empty in a copy
    _own: ClassVar[Mapping[str, Callable[[], Any]]] = {}

    def __copy__(self) -> Self:
        """Another one around the same kernel, with lists and tables of its own, and nothing tuned."""
        made = object.__new__(type(self))
        made.__dict__.update({name: copy.copy(value) for name, value in self._state().items()})
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """As a copy: kernels are not copied, and configurations are never changed."""
        return copy.copy(self)

    def _state(self) -> dict[str, Any]:
        return {**self.__dict__, **{name: make() for name, make in self._own.items()}}

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickled by name where it can be imported, else by its parts."""
        from tri.pickling import reduced

        return reduced(self, (object.__new__, (type(self),), self._state()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.fn!r})"
