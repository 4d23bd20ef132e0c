"""``JITCallable``: the Python function of a kernel, and its source as code outside of tri reads and replaces it."""

from __future__ import annotations

import contextlib
import inspect
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from tri_core import forks
from tri_core.errors import TriError

if TYPE_CHECKING:
    import ast

    from tri.kernel_source import KernelSource
    from tri.language.constexpr import constexpr_type

__all__ = ["CallableServices", "JITCallable"]


#: what is made of a Python function when it is asked for
_MADE = (
    "source", "cache_key", "_dispatcher", "_as_python", "_fn_name", "_lines", "raw_src",
    "starting_line_number", "file_name", "def_file_line_number", "def_file_col_number",
)  # fmt: skip


class CallableServices(Protocol):
    """Services of the layers above for a function: the globals it reads, and a key from them."""

    def fingerprint(self, function: Any) -> str:
        """A hash of the function's source and of everything that it uses from outside."""
        ...

    def used_globals(self, function: Any) -> dict[tuple[str, int], tuple[Any, Mapping[str, Any]]]:
        """Globals that the function and its callees read from their modules: (name, id of the names) ->
        (value, names).
        """
        ...


class JITCallable:
    """A function whose source is compiled: what it is called, where it stands, what it reads.

    Its Python function can be taken away, and put back: ``f.fn = None`` leaves its names, parameters and text, with which
    versions compiled before are launched; it pickles and is copied as a :class:`tri.declarations.Declaration` then.
    PyTorch's Inductor does that around each pickle of a kernel.
    """

    services: ClassVar[CallableServices]

    __name__: str
    __qualname__: str

    #: None: taken away, for the time being
    _function: Callable[..., Any] | None
    #: the text of the one that was taken away
    _text_left: str | None = None
    #: the one that was taken away, while somebody else keeps it
    _taken: weakref.ref[Callable[..., Any]] | None = None

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._function = fn
        self._text: str | None = None

    @property
    def fn(self) -> Any:
        """The Python function; None where it was taken away."""
        return self._function

    @fn.setter
    def fn(self, value: Callable[..., Any] | None) -> None:
        if value is None and self._function is not None:
            self._take_away(self._function)
        elif value is not None:
            if value is not (self._function or (self._taken and self._taken())):
                self._forget_function()
            self._function, self._taken = value, None

    def _take_away(self, function: Callable[..., Any]) -> None:
        with contextlib.suppress(TriError):  # its file is gone
            self._text_left = self.src
        self._taken = weakref.ref(function)
        self._function = None

    def _forget_function(self) -> None:
        """Forget what was made of another Python function, and the text put in place of its."""
        self._text = None
        for name in _MADE:
            self.__dict__.pop(name, None)

    @property
    def python_function(self) -> Callable[..., Any]:
        """The Python function; TriError where it was taken away."""
        if self._function is None:
            raise TriError(
                f"the Python function of {self.__qualname__} was taken away: only versions compiled before can be launched",
                remedy=f"set {self.__name__}.fn to the function, or load its module again",
            )
        return self._function

    @forks.cached_property
    def source(self) -> KernelSource:
        """The function's source, read on first use."""
        from tri.kernel_source import read_source, source_of_text

        if self._text is not None:
            return source_of_text(self.python_function, self._text)
        return read_source(self.python_function)

    @property
    def src(self) -> str:
        """The function's text, without decorators; it does not change but by :meth:`_unsafe_update_src`."""
        if self._text is not None:
            return self._text
        if self._function is None and self._text_left is not None:
            return self._text_left
        return self.source.text

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
    def used_global_vals(self) -> dict[tuple[str, int], tuple[Any, Mapping[str, Any]]] | None:
        """Globals that the function and its callees read from their modules: (name, id of the names) ->
        (value, names).

        Read anew whenever it is asked for; None where the function was taken away.  To set it changes nothing.
        """
        return None if self._function is None else self.services.used_globals(self)

    @used_global_vals.setter
    def used_global_vals(self, value: Mapping[tuple[str, int], Any] | None) -> None:
        """Nothing: PyTorch's Inductor sets None before a pickle, and what it was afterwards."""

    @property
    def closure(self) -> Mapping[str, Any]:
        """The variables of enclosing functions that the function uses, as they are."""
        from tri.captures import CellNames

        return CellNames.of(self.python_function)

    @property
    def __globals__(self) -> dict[str, Any] | None:
        """The names of the function's module; None where the function was taken away."""
        return None if self._function is None else self._function.__globals__

    @__globals__.setter
    def __globals__(self, value: dict[str, Any] | None) -> None:
        """Nothing for None and what it is: PyTorch's Inductor takes them away and puts them back; others are refused."""
        if value is not None and value is not self.__globals__:
            raise AttributeError(f"the globals of {self.__qualname__} are those of its Python function")

    def get_capture_scope(self) -> dict[str, Any]:
        """The names that the function can read: its module's, and those of enclosing functions."""
        return {**self.python_function.__globals__, **self.closure}

    @property
    def type(self) -> constexpr_type:
        """The type of a compile-time value: the function is one."""
        from tri.language.constexpr import constexpr_type

        return constexpr_type(self)

    # --- where it stands; each may be replaced, as by a tool that writes kernels -------------------------------

    @forks.cached_property
    def _fn_name(self) -> str:
        return f"{self.__module__}.{self.__qualname__}"

    @forks.cached_property
    def _lines(self) -> tuple[list[str], int]:
        return inspect.getsourcelines(self.python_function)

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
        return self.python_function.__code__.co_filename

    @forks.cached_property
    def def_file_line_number(self) -> int:
        """The line of ``def``, from 1."""
        return self.source.tree.lineno

    @forks.cached_property
    def def_file_col_number(self) -> int:
        """The column of ``def``, from 1."""
        return self.source.tree.col_offset + 1
