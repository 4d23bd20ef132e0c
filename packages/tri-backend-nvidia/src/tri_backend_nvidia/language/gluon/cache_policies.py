"""Cache policies of memory instructions: what ``CachePolicy`` of Gluon says, checked when it is made."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from tri.language.constexpr import constexpr_type, unwrap
from tri_core.errors import CompilationError

__all__ = ["CachePolicy", "FractionalEvictionPolicy"]

_EVICTION = ("evict_normal", "evict_unchanged", "evict_first", "evict_last")
_MODIFIERS = ("ca", "cg", "wb", "cs", "wt", "cv")


def _require(value: Any, allowed: tuple[Any, ...], what: str) -> None:
    if value not in allowed:
        raise CompilationError(
            f"{what} is {value!r}", remedy=f"use one of {', '.join(repr(a) for a in allowed)}"
        )


class _Policy:
    """A record whose fields are compile-time values."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]  # a dataclass by contract
            object.__setattr__(self, field.name, unwrap(getattr(self, field.name)))

    @property
    def type(self) -> constexpr_type:
        """The type of the policy as a compile-time value."""
        return constexpr_type(self)

    def mangle(self) -> str:
        """The policy inside the name of a specialised function."""
        return "_".join(str(getattr(self, f.name)).replace(".", "d") for f in fields(self))  # type: ignore[arg-type]


@dataclass(frozen=True)
class FractionalEvictionPolicy(_Policy):
    """``primary`` for a ``fraction`` (above 0, at most 1) of the second-level cache's lines, ``secondary`` for the others."""

    primary: Any
    fraction: Any
    secondary: Any = "evict_unchanged"

    def __post_init__(self) -> None:
        super().__post_init__()
        _require(self.primary, _EVICTION, "primary")
        _require(self.secondary, ("evict_unchanged", "evict_first"), "secondary")
        number = isinstance(self.fraction, (int, float)) and math.isfinite(self.fraction)
        if not number or not 0 < self.fraction <= 1:
            raise CompilationError(f"fraction is {self.fraction!r}", remedy="use a number above 0, at most 1")


@dataclass(frozen=True)
class CachePolicy(_Policy):
    """A hint of what the caches do with the lines of an access; it changes no result."""

    cache_modifier: Any = None
    l1: Any = None
    l2: Any = None
    l2_prefetch_size: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cache_modifier is not None:
            object.__setattr__(self, "cache_modifier", self.cache_modifier.removeprefix("."))
            _require(self.cache_modifier, _MODIFIERS, "cache_modifier")
        _require(self.l1, (None, *_EVICTION, "no_allocate"), "l1")
        _require(self.l2_prefetch_size, (None, 64, 128, 256), "l2_prefetch_size")
        if self.l2 is not None and not isinstance(self.l2, FractionalEvictionPolicy):
            raise CompilationError(f"l2 is {self.l2!r}", remedy="pass a FractionalEvictionPolicy")
        if all(getattr(self, f.name) is None for f in fields(self)):
            raise CompilationError("CachePolicy says nothing", remedy="give it one of its arguments")
