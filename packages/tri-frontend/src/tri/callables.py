"""``JITCallable``: the Python function of a kernel, and its source as code outside of tri reads and replaces it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from tri_core import forks

if TYPE_CHECKING:
    import ast

    from tri.kernel_source import KernelSource
    from tri.language.constexpr import constexpr_type

__all__ = ["CallableServices", "JITCallable"]


class CallableServices(Protocol):
    """What the layers above know of a function: what it reads, and a key from that."""

    def fingerprint(self, function: Any) -> str:
        """A hash of the function's source and of everything that it uses from outside."""
        ...

    def used_globals(self, function: Any) -> dict[tuple[str, int], tuple[Any, Mapping[str, Any]]]:
        """What the function and those that it calls read of their modules: (name, id of the names) -> (value, names)."""
        ...


class JITCallable:
    """A function whose source is compiled: what it is called, where it stands, what it reads."""

    services: ClassVar[CallableServices]

    fn: Callable[..., Any]
    __name__: str
    __qualname__: str

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self._text: str | None = None

    @forks.cached_property
    def source(self) -> KernelSource:
        """The function's source, read on first use."""
        from tri.kernel_source import read_source, source_of_text

        if self._text is not None:
            return source_of_text(self.fn, self._text)
        return read_source(self.fn)

    @property
    def src(self) -> str:
        """The function's text, without decorators; it does not change but by :meth:`_unsafe_update_src`."""
        return self.source.text if self._text is None else self._text

    def _unsafe_update_src(self, new_src: str) -> None:
        """Compile ``new_src``, which begins with ``def``, instead; callers that were compiled before keep what they have.

        Its signature is that of the function given before.
        """
        self._text = new_src
        self.__dict__.pop("source", None)

    def parse(self) -> ast.Module:
        """The syntax tree of the source, in a module of its own."""
        import ast

        return ast.parse(self.src)

    @forks.cached_property
    def cache_key(self) -> str:
        """A hash of the function's source and of everything that it uses from outside."""
        return self.services.fingerprint(self)

    @property
    def used_global_vals(self) -> dict[tuple[str, int], tuple[Any, Mapping[str, Any]]]:
        """What the function and those that it calls read of their modules: (name, id of the names) -> (value, names)."""
        return self.services.used_globals(self)

    @property
    def closure(self) -> Mapping[str, Any]:
        """The variables of enclosing functions that the function uses, as they are."""
        from tri.captures import CellNames

        return CellNames.of(self.fn)

    @forks.cached_property
    def __globals__(self) -> dict[str, Any]:
        """The names of the function's module."""
        return self.fn.__globals__

    def get_capture_scope(self) -> dict[str, Any]:
        """The names that the function can read: its module's, and those of enclosing functions."""
        return {**self.fn.__globals__, **self.closure}

    @property
    def type(self) -> constexpr_type:
        """The type of a compile-time value: the function is one."""
        from tri.language.constexpr import constexpr_type

        return constexpr_type(self)

    # --- where it stands; each may be replaced, as by a tool that writes kernels -------------------------------

    @forks.cached_property
    def _fn_name(self) -> str:
        return f"{self.fn.__module__}.{self.fn.__qualname__}"

    @forks.cached_property
    def _lines(self) -> tuple[list[str], int]:
        return inspect.getsourcelines(self.fn)

    @forks.cached_property
    def raw_src(self) -> list[str]:
        """The lines of the file, decorators included."""
        return self._lines[0]

    @forks.cached_property
    def starting_line_number(self) -> int:
        """The line of the first decorator, or of ``def``."""
        return self._lines[1]

    @forks.cached_property
    def file_name(self) -> str:
        """The file."""
        return self.fn.__code__.co_filename

    @forks.cached_property
    def def_file_line_number(self) -> int:
        """The line of ``def``, from 1."""
        return self.source.tree.lineno

    @forks.cached_property
    def def_file_col_number(self) -> int:
        """The column of ``def``, from 1."""
        return self.source.tree.col_offset + 1
