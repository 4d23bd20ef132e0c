"""Text of compile-time values that is the same in every process."""

from __future__ import annotations

from typing import Any

from tri.jit import JITFunction
from tri.language.constexpr import unwrap

__all__ = ["stable"]


def stable(value: Any) -> str:
    """``value`` as text for a hash: jit functions by their own hash, others by type and repr."""
    value = unwrap(value)
    if isinstance(value, JITFunction):
        return value.cache_key
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(stable, value))})"
    return f"{type(value).__qualname__} {value!r}"
