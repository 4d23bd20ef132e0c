"""Memory that launches need beside their arguments."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from tri_core.errors import TriError

__all__ = ["Allocator", "allocator", "set_allocator"]

#: (bytes, alignment, stream or None) to an array of that many bytes on the current device
Allocator = Callable[[int, int, int | None], Any]

_allocator: ContextVar[Allocator | None] = ContextVar("tri_allocator", default=None)


def set_allocator(function: Allocator) -> None:
    """Let ``function(bytes, alignment, stream)`` make the scratch memory that launches ask for, in this context.

    Kernels of a target that keeps descriptors in global memory ask for some; no other kernel does.
    TriError where ``function`` cannot be called.
    """
    if not callable(function):
        raise TriError(
            f"an allocator is a function, not {function!r}", remedy="pass function(size, alignment, stream)"
        )
    _allocator.set(function)


def allocator() -> Allocator | None:
    """Allocator set by :func:`set_allocator` in this context; None if there is none."""
    return _allocator.get()
