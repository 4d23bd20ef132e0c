"""Scratch memory for kernels: Triton's kernels ask the user for it, tri's runtimes have their own."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

__all__ = [
    "Allocator",
    "Buffer",
    "NullAllocator",
    "has_profile_allocator",
    "set_allocator",
    "set_profile_allocator",
]

Allocator = Callable[[int, int, "int | None"], Any]
Buffer = Any


class NullAllocator:
    """The allocator in force until a user sets one; tri never calls it."""

    def __call__(self, size: int, alignment: int, stream: int | None) -> Any:
        """Refused: nothing in tri asks for memory here."""
        raise RuntimeError(f"no allocator is set ({size} bytes were asked for); call triton.set_allocator")


_NONE = NullAllocator()
_allocator: ContextVar[Any] = ContextVar("tri_triton_allocator", default=_NONE)
_profile_allocator: ContextVar[Any] = ContextVar("tri_triton_profile_allocator", default=_NONE)


def set_allocator(allocator: Allocator) -> None:
    """Keep ``allocator``, for code that reads it back: tri's kernels need no scratch memory of the user."""
    _allocator.set(allocator)


def set_profile_allocator(allocator: Allocator | None) -> None:
    """Keep ``allocator``, as :func:`set_allocator` does; None for none."""
    _profile_allocator.set(allocator if allocator is not None else NullAllocator())


def has_profile_allocator() -> bool:
    """Whether a profile allocator was set."""
    return not isinstance(_profile_allocator.get(), NullAllocator)
