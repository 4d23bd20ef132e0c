"""Errors while a call is read: in an argument, or in the grid's function, with their cause."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tri.launch.binder import rules_of
from tri.launch.calls import call_site, check_arguments
from tri.launch.readers import readers, static_fact
from tri_core.errors import ArgumentError, LaunchError, TriError

if TYPE_CHECKING:
    from tri.kernel import Kernel, KernelParameter

__all__ = ["called", "explained"]


def called(function: Kernel, grid: Callable[[Mapping[str, Any]], Any], given: Mapping[str, Any]) -> Any:
    """Result of the grid function of a launch of ``function``; LaunchError if it raises."""
    try:
        return grid(given)
    except TriError:
        raise
    except Exception as error:
        raise LaunchError(
            f"the grid function of {function.__name__} raised {type(error).__name__}: {error}",
            remedy=f"it is called with the arguments by name, which are {', '.join(given)}",
            location=call_site(),
        ) from error


def explained(function: Kernel, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
    """A better error than the binder's ``error``: which parameter is wrong, and where the call is."""
    check_arguments(function, args, kwargs)
    given = {**dict(zip(function.arg_names, args, strict=False)), **kwargs}
    for parameter in function.params:
        if parameter.name in given and parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
            found = _wrong(function, parameter, given[parameter.name])
            if found is not None:
                return found
    return error if isinstance(error, TriError) else _unreadable(function, None, None, error)


def _wrong(function: Kernel, parameter: KernelParameter, value: Any) -> Exception | None:
    """Error of reading the argument ``value`` of ``parameter``; None if it can be read."""
    try:
        if parameter.is_constexpr:
            static_fact(value)
        else:
            readers(rules_of(parameter))[type(value)](value)
    except LaunchError as found:
        better = type(found)(
            f"argument {parameter.name!r} of {function.__name__}: {found.message}",
            remedy=found.remedy,
            location=call_site(),
        )
        better.__cause__ = found.__cause__
        return better
    except TriError as found:
        return found
    except Exception as found:
        return _unreadable(function, parameter.name, value, found)
    return None


def _unreadable(function: Kernel, name: str | None, value: Any, error: Exception) -> ArgumentError:
    """The error for argument ``name`` (None: one of them), whose own code raised ``error`` when it was read."""
    what = "an argument" if name is None else f"argument {name!r}"
    kind = "" if name is None else f", a {type(value).__module__}.{type(value).__qualname__},"
    found = ArgumentError(
        f"{what} of {function.__name__}{kind} cannot be read: it raised {type(error).__name__}: {error}",
        remedy="pass an array whose memory can be seen (dense, detached, not freed), a number, a bool or None",
        location=call_site(),
    )
    found.__cause__ = error
    return found
