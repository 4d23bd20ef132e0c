"""Pickles of kernels and of what stands around them: by name where they can be imported, else by what they are made of."""

from __future__ import annotations

import functools
import importlib
import sys
from types import FrameType
from typing import Any

__all__ = ["by_name", "reduced"]


def reduced(value: Any, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Result of ``value.__reduce_ex__``: a reference by name, or ``parts`` (a function with its arguments, a
    state).
    """
    module, name = value.__module__, value.__qualname__
    # the main module of another process is another one
    hidden = module == "__main__" and _is_by_value()
    depth = None if hidden else _depth(module, name, value)
    return parts if depth is None else (by_name, (module, name, depth))


def by_name(module: str, name: str, depth: int) -> Any:
    """The object called ``name`` in ``module``, or what it wraps, ``depth`` times."""
    importlib.import_module(module)
    return functools.reduce(lambda found, _: found.fn, range(depth), _found(module, name))


def _found(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _depth(module: str, name: str, value: Any) -> int | None:
    """Number of wrappers around ``value`` in what ``module`` calls ``name``; None if it isn't in there."""
    found, depth = _found(module, name), 0
    while found is not None and found is not value:
        found, depth = getattr(found, "fn", None), depth + 1
    return depth if found is value else None


def _is_by_value() -> bool:
    """True if the calling pickler takes functions of the main module apart, as cloudpickle and its copies do."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] in (
        "tri",
        "pickle",
    ):
        frame = frame.f_back
    return frame is not None and "cloudpickle" in str(frame.f_globals.get("__name__", ""))
