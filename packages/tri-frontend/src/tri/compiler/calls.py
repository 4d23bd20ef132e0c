"""Rules of calls: builtins of the language, jit functions, and Python functions at compile time."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from tri.compiler.call_arguments import arguments, is_tuple_class, parameters_of
from tri.compiler.functions import call_jit
from tri.compiler.members import attribute_of
from tri.compiler.rules import rule
from tri.compiler.scope import BUILTINS
from tri.compiler.values import describe, has_tensors
from tri.kernel import Kernel
from tri.language import math, selection
from tri.language.aggregate import is_aggregate_class
from tri.language.builtin import is_builtin, is_constexpr_function, of_builtin, takes_constexprs
from tri.language.constexpr import constexpr, unwrap
from tri.language.debug import device_print
from tri.language.python_values import BoundMethod, wrap
from tri.language.structure import remake
from tri_core.errors import CompilationError, CompileTimeAssertionFailure, SourceLocation, TriError

if TYPE_CHECKING:
    from tri.compiler.generator import Generator

__all__ = ["call", "call_value"]


@rule(ast.Call)
def call(g: Generator, node: ast.Call) -> Any:
    """``f(...)``."""
    function = g.visit(node.func)
    if g.unused is node:
        _check_used(function, node)
    args, kwargs = arguments(g, node)
    return call_value(g, function, args, kwargs, node)


def _check_used(function: Any, node: ast.Call) -> None:
    """CompilationError when ``function`` was decorated with ``must_use_result``: this call's result is dropped."""
    inner = unwrap(function)
    inner = inner.function if isinstance(inner, BoundMethod) else inner
    reason = getattr(inner, "__tri_must_use_result__", False)
    if reason:
        raise CompilationError(
            f"the result of {ast.unparse(node.func)} is not used",
            remedy=reason if isinstance(reason, str) else "assign it to a name",
        )


def call_value(g: Generator, function: Any, args: list[Any], kwargs: dict[str, Any], node: ast.AST) -> Any:
    """Call any value of the language."""
    known = isinstance(function, constexpr)  # part of the kernel's identity, as every constexpr is
    if isinstance(function, constexpr):
        function = function.value
    method = isinstance(function, BoundMethod)
    if isinstance(function, BoundMethod):
        function, args = function.function, [function.receiver, *args]
    if isinstance(function, Kernel):
        return call_jit(g, function, args, kwargs, node)
    if is_builtin(function):
        return _call_builtin(g, function, args, kwargs)
    if method and not is_constexpr_function(function):
        return _call_as_is(g, function, args, kwargs)
    if is_aggregate_class(function) or getattr(function, "__tri_raw__", False):
        return _call_as_is(g, function, args, kwargs)
    if _is_replace(function):
        return wrap(function(**kwargs))
    special = _DYNAMIC_BUILTINS.get(function) if isinstance(function, Hashable) else None
    if special is not None:
        return special(g, args, kwargs)
    return _call_python(function, args, kwargs, known=known)


def _is_replace(function: Any) -> bool:
    """True if ``function`` is ``x._replace`` of a named tuple, which takes run-time values too."""
    owner = getattr(function, "__self__", None)
    return isinstance(owner, tuple) and getattr(function, "__name__", "") == "_replace"


def _call_as_is(g: Generator, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Plain Python that works on values of the language: constructors and methods of aggregates."""
    from tri.language.foreign_values import check_class  # few kernels make such values

    check_class(function, g.b)
    name = getattr(function, "__name__", repr(function))
    accepted = inspect.signature(function).parameters
    if "_semantic" in accepted or is_aggregate_class(function):
        kwargs = {**kwargs, "_semantic": g.b}
    try:
        return wrap(function(*args, **kwargs))
    except TriError:
        raise
    except Exception as error:
        text = str(error) if is_aggregate_class(function) else f"{name}: {error}"
        raise CompilationError(text, remedy=parameters_of(function)) from error


def _call_builtin(g: Generator, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    plain = of_builtin(function)
    if not takes_constexprs(function):
        args, kwargs = [_argument(a) for a in args], {k: _argument(v) for k, v in kwargs.items()}
    try:
        return wrap(plain(*args, **kwargs, _semantic=g.b))
    except CompilationError as error:
        asserted = isinstance(error, CompileTimeAssertionFailure)
        if SourceLocation.tells_function and error.location is None and not asserted and not error.__cause__:
            # where texts are Triton's, as there: what a builtin refuses is the cause of the error at its call
            error.__cause__ = ValueError(error.message)
        raise
    except TypeError as error:
        _check_arguments(plain, args, kwargs)
        raise CompilationError(f"tl.{function.__name__}: {error}") from error


def _argument(value: Any) -> Any:
    """Argument of a builtin: Python values for constexprs, through tuples too."""
    if isinstance(value, tuple) and type(value) is not tuple:
        return remake(value, map(_argument, value))
    return unwrap(value)


def _check_arguments(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """CompilationError when the arguments do not fit the signature of a builtin."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs, _semantic=None)
    except TypeError as error:
        raise CompilationError(f"tl.{function.__name__}: {error}", remedy=parameters_of(function)) from None


# --- Python's functions ---------------------------------------------------------------------------------


#: builtins that look at their arguments from outside, so that run-time values in them do not matter
_LOOKING = frozenset((isinstance, issubclass, len, type, tuple, list, zip, enumerate, reversed))


def _call_python(function: Any, args: list[Any], kwargs: dict[str, Any], *, known: bool = False) -> Any:
    """A Python function or class on compile-time values, at compile time.

    ``known``: the function itself is the value of a constexpr.
    """
    name = getattr(function, "__name__", repr(function))
    if not callable(function):
        raise CompilationError(
            f"{describe(wrap(function))} cannot be called",
            remedy="call jit functions, functions of tri.language and Python's few builtins",
        )
    sees_tensors = is_tuple_class(function) or is_constexpr_function(function) or _is_looking(function)
    if has_tensors((*args, *kwargs.values())) and not sees_tensors:
        raise CompilationError(
            f"{name} is a Python function: it cannot take run-time values", remedy=_instead(function, name)
        )
    if not (known or sees_tensors or isinstance(function, type) or _may_call(function)):
        raise CompilationError(
            f"{name} is a plain Python function",
            remedy="decorate it with @tri.jit, or with @tri.constexpr_function to run it while compiling",
        )
    try:
        return wrap(
            _python_result(function(*map(_argument, args), **{k: _argument(v) for k, v in kwargs.items()}))
        )
    except TriError as error:
        if has_tensors((*args, *kwargs.values())):  # it may ask for a type or a shape, but not compute
            raise CompilationError(
                f"{name} is a constexpr function: it cannot compute with run-time values",
                remedy=f"use a function of tri.language, or write one with @tri.jit instead of {name}",
            ) from error
        raise
    except Exception as error:
        remedy = parameters_of(function) if isinstance(error, TypeError) else None
        raise CompilationError(f"{name} raised {type(error).__name__}: {error}", remedy=remedy) from error


def _instead(function: Any, name: str) -> str:
    """Remedy for a call of a host function: a function of the language with its name, or a jit function."""
    import tri.language

    if name in tri.language.__all__:
        return f"use tl.{name}"
    if hasattr(function, "__code__"):
        return f"decorate {name} with @tri.jit, or use a function of tri.language"
    return "use functions of tri.language"


def _is_looking(function: Any) -> bool:
    return isinstance(function, Hashable) and function in _LOOKING


def _may_call(function: Any) -> bool:
    if isinstance(function, Hashable) and function in BUILTINS.values():
        return True
    # functions of C modules and of the standard library (math.log2), reached through their module
    return not hasattr(function, "__code__") or function.__module__ in ("math", "operator")


def _python_result(value: Any) -> Any:
    return tuple(value) if isinstance(value, (zip, enumerate, reversed)) else value


def _extremum(
    builtin: Any, python: Callable[..., Any]
) -> Callable[[Generator, list[Any], dict[str, Any]], Any]:
    def choose(g: Generator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if not has_tensors(tuple(args)):
            return _call_python_unchecked(python, args, kwargs)
        return functools.reduce(
            lambda x, y: of_builtin(builtin)(_argument(x), _argument(y), _semantic=g.b), args
        )

    return choose


def _absolute(g: Generator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if has_tensors(tuple(args)):
        return _call_builtin(g, math.abs, args, kwargs)
    return _call_python_unchecked(abs, args, kwargs)


def _call_python_unchecked(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    try:
        return wrap(function(*map(_argument, args), **{k: _argument(v) for k, v in kwargs.items()}))
    except (TypeError, ValueError) as error:
        raise CompilationError(f"{function.__name__}: {error}") from error


def _number(python: type) -> Callable[[Generator, list[Any], dict[str, Any]], Any]:
    def make(g: Generator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if has_tensors(tuple(args)):
            raise CompilationError(
                f"{python.__name__}() takes constexprs only, got {describe(args[0])}",
                remedy="convert run-time values with .to(tl.float32) or .to(tl.int32)",
            )
        return _call_python_unchecked(python, args, kwargs)

    return make


def _print(g: Generator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return _call_builtin(g, device_print, args, kwargs)


def _constexpr(g: Generator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if len(args) != 1 or has_tensors(args[0]):
        raise CompilationError("tl.constexpr(...) takes one compile-time value")
    return wrap(unwrap(args[0]))


def _getattr(g: Generator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if kwargs or not 2 <= len(args) <= 3:
        raise CompilationError("getattr takes a value, a name and perhaps a default")
    try:
        return attribute_of(g, args[0], _name(args[1]))
    except CompilationError:
        if len(args) == 3:
            return args[2]
        raise


def _hasattr(g: Generator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if kwargs or len(args) != 2:
        raise CompilationError("hasattr takes a value and a name")
    try:
        attribute_of(g, args[0], _name(args[1]))
    except CompilationError:
        return constexpr(False)
    return constexpr(True)


def _name(value: Any) -> str:
    name = unwrap(value)
    if not isinstance(name, str):
        raise CompilationError(f"an attribute's name is a constexpr string, got {describe(value)}")
    return name


#: Python's builtins (and constexpr) that take run-time values too, or refuse them in their own words
_DYNAMIC_BUILTINS: dict[Any, Callable[[Generator, list[Any], dict[str, Any]], Any]] = {
    min: _extremum(selection.minimum, min),
    max: _extremum(selection.maximum, max),
    abs: _absolute,
    print: _print,
    int: _number(int),
    float: _number(float),
    bool: _number(bool),
    constexpr: _constexpr,
    getattr: _getattr,
    hasattr: _hasattr,
}
