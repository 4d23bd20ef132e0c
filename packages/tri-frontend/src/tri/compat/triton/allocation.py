"""``triton.runtime._allocation``: the user's functions for scratch memory."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from tri.allocation import Allocator, _allocator, set_allocator

__all__ = [
    "Allocator",
    "Buffer",
    "NullAllocator",
    "_allocator",
    "has_profile_allocator",
    "set_allocator",
    "set_profile_allocator",
]

Buffer = Any


class NullAllocator:
    """Placeholder for no allocator; tri never calls it."""

    def __call__(self, size: int, alignment: int, stream: int | None) -> Any:
        """Refused: nothing in tri asks for memory here."""
        raise RuntimeError(f"no allocator is set ({size} bytes were asked for); call triton.set_allocator")


_NONE = NullAllocator()
_profile_allocator: ContextVar[Any] = ContextVar("tri_triton_profile_allocator", default=_NONE)


def set_profile_allocator(allocator: Allocator | None) -> None:
    """Keep ``allocator`` for code that reads it back: no profiler of tri's asks for memory; None for none."""
    _profile_allocator.set(allocator if allocator is not None else NullAllocator())


def has_profile_allocator() -> bool:
    """True if a profile allocator was set."""
    return not isinstance(_profile_allocator.get(), NullAllocator)
