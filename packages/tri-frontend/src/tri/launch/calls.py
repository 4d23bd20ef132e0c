"""Errors of a kernel call: what is wrong with the arguments, and where the call stands."""

from __future__ import annotations

import difflib
import inspect
import linecache
import sys
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from tri_core.errors import ArgumentError, SourceLocation

if TYPE_CHECKING:
    from tri.kernel import Kernel

__all__ = ["call_site", "check_arguments", "hashable", "show", "unknown_option"]

_HERE = __name__.partition(".")[0]


def call_site() -> SourceLocation | None:
    """The innermost place on the stack that is not in tri: where the user called."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] != _HERE:
            file, line = frame.f_code.co_filename, frame.f_lineno
            text = linecache.getline(file, line).rstrip("\n")
            column = len(text) - len(text.lstrip())
            return SourceLocation(file, line, column, text or None)
        frame = frame.f_back
    return None


def check_arguments(function: Kernel, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """ArgumentError when ``args`` and ``kwargs`` do not fit the parameters; options are left to others."""
    name = function.__name__
    known = {k: v for k, v in kwargs.items() if k in function.signature.parameters}
    positional = [p for p in function.params if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    variable = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in positional)
    if len(args) > len(positional) and not variable:
        raise ArgumentError(
            f"{name} takes {len(positional)} arguments, {len(args)} were given",
            remedy=f"its parameters are {function.signature_text}",
            location=call_site(),
        )
    given = [p.name for p in positional[: len(args)]]
    twice = [n for n in given if n in known]
    if twice:
        raise ArgumentError(f"{name} is given {twice[0]!r} twice", location=call_site())
    missing = [
        p.name
        for p in function.params
        if not (p.has_default or p.name in given or p.name in known)
        and p.kind is not inspect.Parameter.VAR_POSITIONAL
    ]
    if missing:
        raise ArgumentError(
            f"{name} is missing {', '.join(map(repr, missing))}",
            remedy=_missing_remedy(function, missing, [k for k in kwargs if k not in known]),
            location=call_site(),
        )


def _missing_remedy(function: Kernel, missing: Sequence[str], unknown: Sequence[str]) -> str:
    for wrong in unknown:
        near = difflib.get_close_matches(wrong, missing)
        if near:
            return f"did you mean {near[0]}= instead of {wrong}=?"
    return f"its parameters are {function.signature_text}"


def show(value: Any) -> str:
    """An argument in a message: its type, with its value when short."""
    text = repr(value)
    kind = type(value).__name__
    return f"{kind} {text}" if len(text) < 40 and "\n" not in text else kind


def unknown_option(name: str, function: Kernel, options: Sequence[str]) -> str:
    """The remedy for keyword ``name``, which is neither a parameter nor an option."""
    near = difflib.get_close_matches(name, [*function.arg_names, *options])
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"parameters: {', '.join(function.arg_names)}; options: {', '.join(sorted(options))}"


def hashable(value: Any) -> Any:
    """An option's value as part of a key: dictionaries, lists and sets become tuples and frozen sets."""
    if isinstance(value, dict):
        return tuple((name, hashable(item)) for name, item in sorted(value.items(), key=repr))
    if isinstance(value, (list, tuple)):
        return tuple(map(hashable, value))
    if isinstance(value, set):
        return frozenset(value)
    try:
        hash(value)
    except TypeError:
        return type(value), repr(value)
    return value
