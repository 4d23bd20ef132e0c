"""Math functions of f32 for targets that have none: plain arithmetic, by function name."""

from __future__ import annotations

from collections.abc import Callable

from tri_core.mlir import ir

__all__ = ["EXPANSIONS"]

#: function of a builder and f32 scalars
EXPANSIONS: dict[str, Callable[..., ir.Value]] = {}
