"""The keywords of ``run`` that are no arguments of the kernel: ``grid`` and ``warmup``.

A kernel may have parameters of these names.  ``kernel[grid](...)`` and ``kernel.warmup(...)`` then hand both over
under :data:`REQUEST`, which is no identifier, and ``grid`` and ``warmup`` among the keywords are arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tri_core.errors import TriError
from tri_core.tracebacks import shorten

__all__ = ["REQUEST", "arguments_only", "grid_and_warmup", "start", "warm_up_keywords"]

#: the keyword that has (grid, whether only to compile)
REQUEST = "@launch"
_OWN = frozenset({"grid", "warmup"})


def start(kernel: Any, grid: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Run ``kernel`` over ``grid``, as ``kernel[grid](*args, **kwargs)`` does."""
    try:
        if _OWN.isdisjoint(kwargs):
            return kernel.run(*args, grid=grid, warmup=False, **kwargs)
        return kernel.run(*args, **{**kwargs, REQUEST: (grid, False)})
    except TriError as error:
        shorten(error)
        raise


def grid_and_warmup(kwargs: Mapping[str, Any]) -> tuple[Any, bool]:
    """The grid in the keywords of ``run``, and whether only to compile; TypeError without a grid."""
    if REQUEST in kwargs:
        grid, warmup = kwargs[REQUEST]
        return grid, warmup
    if "grid" not in kwargs:
        raise TypeError("run() is missing its keyword grid=")
    return kwargs["grid"], bool(kwargs.get("warmup", False))


def arguments_only(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of ``run`` that are arguments of the kernel, or options."""
    dropped = {REQUEST} if REQUEST in kwargs else _OWN
    return {name: value for name, value in kwargs.items() if name not in dropped}


def warm_up_keywords(arg_names: Sequence[str], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of ``run`` for ``kernel.warmup(..., **kwargs)``; ``grid`` may be left out."""
    if _OWN.isdisjoint(arg_names):
        return {"grid": (1,), **kwargs, "warmup": True}
    given = (
        arguments_only(kwargs)
        if REQUEST in kwargs
        else {k: v for k, v in kwargs.items() if k in arg_names or k not in _OWN}
    )
    return {**given, REQUEST: ((1,), True)}
