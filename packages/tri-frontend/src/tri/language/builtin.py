"""Builtins: functions of the kernel language."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from tri.interpreting import current
from tri.language.tensor import tensor
from tri_core.errors import OutsideKernel
from tri_core.tracebacks import shorten

__all__ = [
    "builtin",
    "constexpr_function",
    "is_builtin",
    "is_constexpr_function",
    "member",
    "of_builtin",
    "takes_constexprs",
]

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")


def builtin(function: Callable[..., R]) -> Callable[..., R]:
    """Mark ``function`` as callable from kernels; OutsideKernel where host code calls it.

    The code generator passes its :class:`~tri.compiler.builder.Builder` as ``_semantic``; constexpr
    arguments arrive as plain Python values, run-time ones as :class:`~tri.language.tensor`.
    """

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> R:
        if kwargs.get("_semantic") is None:
            interpreter = current()
            if interpreter is not None:
                return interpreter.call(function, args, kwargs)
            try:
                raise OutsideKernel(
                    f"tri.language.{function.__name__} was called outside of a kernel",
                    remedy="call it from a function decorated with @tri.jit",
                )
            except OutsideKernel as error:
                shorten(error)
                raise
        return function(*args, **kwargs)

    wrapper.__tri_builtin__ = function  # type: ignore[attr-defined]
    return wrapper


def builtin_of_constexprs(function: Callable[..., R]) -> Callable[..., R]:
    """:func:`builtin`, with constexpr arguments as :class:`~tri.language.constexpr`, as Triton's get them."""
    marked = builtin(function)
    marked.__tri_constexprs__ = True  # type: ignore[attr-defined]
    return marked


def is_builtin(value: object) -> bool:
    """True if ``value`` was decorated with :func:`builtin`, or carries Triton's mark of such a function, as
    PyTorch's own decorator sets it.
    """
    return hasattr(value, "__tri_builtin__") or _is_marked(value)


def _is_marked(value: object) -> bool:
    return isinstance(value, FunctionType) and getattr(value, "__triton_builtin__", False) is True


def of_builtin(function: Any) -> Callable[..., Any]:
    """Function that a builtin calls: it takes the builder as ``_semantic``."""
    return function if _is_marked(function) else function.__tri_builtin__


def takes_constexprs(function: Any) -> bool:
    """True if a builtin gets constexpr arguments as such, as all of Triton's do."""
    return _is_marked(function) or getattr(function, "__tri_constexprs__", False)


def member(function: F) -> F:
    """Make a language function also a method of :class:`~tri.language.tensor`; its first argument is self."""
    name = getattr(function, "__name__", "")
    setattr(tensor, name, function)
    return function


def constexpr_function(function: F) -> F:
    """Make a plain Python function callable from kernels, on compile-time values, at compile time.

    What it raises there ends the compile as a CompilationError at the call.
    """
    function.__tri_constexpr_function__ = True  # type: ignore[attr-defined]
    return function


def is_constexpr_function(value: object) -> bool:
    """True if ``value`` was decorated with :func:`constexpr_function`."""
    return getattr(value, "__tri_constexpr_function__", False) is True
