"""Functions that rewritten kernels call: the kernel language where it differs from Python.

Compile-time values are plain Python values while a kernel is interpreted; ``constexpr`` objects come from
globals and shapes only, and are looked into wherever it matters.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from tri.interpreting import current
from tri.kernel import Kernel
from tri.language import loops, math, selection, tuples
from tri.language import types as t
from tri.language.arithmetic import logical_and, logical_not, logical_or
from tri.language.builtin import is_constexpr_function
from tri.language.casts import is_plain, value_of
from tri.language.constexpr import constexpr, unwrap
from tri.language.debug import device_assert
from tri.language.hints import expect_scope
from tri.language.promotion import integer_type
from tri.language.shapes import CONSTEXPR_REMEDY
from tri.language.tensor import tensor
from tri_core.errors import CompilationError, InternalError

if TYPE_CHECKING:
    from tri.interpreter.builder import EagerBuilder

__all__ = [
    "bind",
    "bound_scope",
    "callee",
    "chain",
    "check",
    "conjunction",
    "disjunction",
    "dropped",
    "items",
    "iterate",
    "negation",
    "plain",
    "scope",
    "static",
    "value",
]


def _builder() -> EagerBuilder:
    builder = current()
    if builder is None:
        raise InternalError("a rewritten kernel runs outside of the interpreter")
    return builder


# --- assignments ------------------------------------------------------------------------------------------


def bind(value: Any) -> Any:
    """Value bound by an assignment: every number in ``value`` as a run-time value."""
    if isinstance(value, tensor):
        return value
    if isinstance(value, constexpr):
        value = value.value
    if is_plain(value):
        return value_of(_builder(), value)  # type: ignore[arg-type]
    if isinstance(value, tuple):
        make: Callable[[Iterable[Any]], Any] = getattr(type(value), "_make", tuples.tuple)
        return make(map(bind, value))
    return tuples.tuple(map(bind, value)) if isinstance(value, list) else value


def static(value: Any) -> Any:
    """Value bound by ``x: tl.constexpr = value``: ``value``, which must not be known at run time only."""
    items = value if isinstance(value, tuple) else (value,)
    if any(isinstance(item, tensor) for item in items):
        raise CompilationError(
            "a constexpr is assigned a run-time value",
            remedy="drop the annotation, or compute it from constexprs",
        )
    return unwrap(value)


plain = unwrap


def value(owner: Any) -> Any:
    """``owner.value``, also of a constexpr that is a plain value here."""
    return owner if is_plain(owner) or isinstance(owner, (str, t.dtype)) else owner.value


# --- logic ------------------------------------------------------------------------------------------------


def _logical(is_and: bool, first: Any, later: tuple[Callable[[], Any], ...]) -> Any:
    result = first
    for compute in later:
        if not isinstance(result, tensor):
            if bool(unwrap(result)) is not is_and:
                return result
            following = compute()
            result = following
            continue
        following = compute()
        if not isinstance(following, tensor) and bool(unwrap(following)) is is_and and result.dtype.is_bool():
            continue
        emit = logical_and if is_and else logical_or
        result = emit(_builder(), result, unwrap(following))  # type: ignore[arg-type]
    return result


def conjunction(first: Any, *later: Callable[[], Any]) -> Any:
    """``first and ...``: of run-time values all are computed."""
    return _logical(True, first, later)


def disjunction(first: Any, *later: Callable[[], Any]) -> Any:
    """``first or ...``."""
    return _logical(False, first, later)


def negation(x: Any) -> Any:
    """``not x``."""
    return logical_not(_builder(), x) if isinstance(x, tensor) else not unwrap(x)  # type: ignore[arg-type]


def check(condition: Any, message: Any = "") -> None:
    """``assert condition, message``."""
    if isinstance(condition, tensor):
        device_assert(condition, str(unwrap(message)), _semantic=_builder())
    elif not unwrap(condition):
        raise CompilationError(f"static_assert failed: {message}" if message else "static_assert failed")


def chain(first: Any, *rest: Any) -> Any:
    """``a < b <= c``, of names of syntax classes and values in turn: all comparisons, joined by ``and``."""
    result: Any = True
    for name, following in zip(rest[::2], rest[1::2], strict=True):
        compared = _COMPARISONS[name](first, following)
        result = conjunction(result, functools.partial(unwrap, compared))
        if not isinstance(result, tensor) and not result:
            return result
        first = following
    return result


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt,
    "GtE": operator.ge, "Is": lambda x, y: unwrap(x) is unwrap(y), "IsNot": lambda x, y: unwrap(x) is not unwrap(y),
    "In": lambda x, y: unwrap(x) in unwrap(y), "NotIn": lambda x, y: unwrap(x) not in unwrap(y),
}  # fmt: skip


# --- loops ------------------------------------------------------------------------------------------------


def iterate(iterable: Any) -> Iterator[Any]:
    """Values of a ``for`` loop; a range gives run-time integers of the type that compiled code counts in."""
    iterable = iterable.value if isinstance(iterable, constexpr) else iterable
    if isinstance(iterable, loops.static_range):
        bounds = (unwrap(v) for v in (iterable.start, iterable.end, iterable.step))
        return iter(range(*map(_static_bound, bounds)))
    if isinstance(iterable, range):
        iterable = loops.range(iterable.start, iterable.stop, iterable.step)
    if isinstance(iterable, loops.range):
        return _counted(iterable)
    return iter(iterable)


def items(iterable: Any) -> Iterator[Any]:
    """Values of a comprehension: ranges are of compile-time values there."""
    iterable = iterable.value if isinstance(iterable, constexpr) else iterable
    if isinstance(iterable, (loops.range, loops.static_range)):
        return iterate(loops.static_range(iterable.start, iterable.end, iterable.step))
    return iter(iterable)


def _static_bound(bound: Any) -> int:
    if not isinstance(bound, int):
        raise CompilationError(
            f"static_range needs constexpr ints, got {bound!r}",
            remedy=f"use range for bounds known at run time only, or {CONSTEXPR_REMEDY}",
        )
    return bound


def _counted(loop: loops.range) -> Iterator[tensor]:
    bounds, type_ = _bounds(loop)
    builder = _builder()
    for i in range(*bounds):
        yield builder.constant(i, type_)


def _bounds(loop: loops.range) -> tuple[list[int], t.dtype]:
    values = [value_of(_builder(), unwrap(v)) for v in (loop.start, loop.end, loop.step)]  # type: ignore[arg-type]
    for name, bound in zip(("start", "end", "step"), values, strict=True):
        if not bound.type.is_int():
            raise CompilationError(
                f"range's {name} is {bound.type}; a scalar integer is needed",
                remedy="cast it, e.g. with .to(tl.int32)",
            )
    common = functools.reduce(integer_type, (v.dtype for v in values))
    numbers = [int(v) for v in values]
    if numbers[2] == 0:
        raise CompilationError("range has step 0")
    return numbers, t.int32 if common.int_bitwidth < 32 else common


# --- scopes -----------------------------------------------------------------------------------------------


def scope(entered: Any) -> AbstractContextManager[Any]:
    """Context that ``with entered:`` enters: what a plugin's scope means here."""
    return expect_scope(unwrap(entered)).entered()


def bound_scope(entered: Any) -> AbstractContextManager[Any]:
    """CompilationError: ``with entered as x`` binds what has no value."""
    del entered
    raise CompilationError("a with that binds a name", remedy="drop the as: a scope has no value")


# --- calls ------------------------------------------------------------------------------------------------


def _on_plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` on the values in constexprs."""
    return lambda *args, **kwargs: function(*map(unwrap, args), **{k: unwrap(v) for k, v in kwargs.items()})


def _extremum(language: Callable[..., Any], python: Callable[..., Any]) -> Callable[..., Any]:
    def choose(*args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(a, tensor) for a in args):
            return python(*map(unwrap, args), **kwargs)
        return functools.reduce(language, args)

    return choose


def _absolute(x: Any) -> Any:
    return math.abs(x) if isinstance(x, tensor) else abs(unwrap(x))


#: Python's functions that the language gives another meaning, or that look at types
_PYTHON: dict[Any, Callable[..., Any]] = {
    range: loops.range,
    min: _extremum(selection.minimum, min),
    max: _extremum(selection.maximum, max),
    abs: _absolute,
    constexpr: unwrap,
    **{f: _on_plain(f) for f in (int, float, bool, len, isinstance, issubclass, getattr, hasattr, type)},
}


def callee(function: Any) -> Callable[..., Any]:
    """Function that a call of ``function`` runs: jit functions as Python, the language's own as they are."""
    function = function.value if isinstance(function, constexpr) else function
    if isinstance(function, Kernel):
        return function.services.as_python(function)
    if is_constexpr_function(function):
        return _on_plain(function)
    try:
        return _PYTHON.get(function, function)
    except TypeError:  # it cannot be hashed
        return function


def dropped(function: Callable[..., Any], text: str) -> Callable[..., Any]:
    """``function``, of a call whose result nobody uses; CompilationError where that is refused."""
    reason = getattr(function, "__tri_must_use_result__", False)
    if reason:
        raise CompilationError(
            f"the result of {text} is not used",
            remedy=reason if isinstance(reason, str) else "assign it to a name",
        )
    return function
