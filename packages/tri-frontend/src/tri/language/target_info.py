"""``tl.target_info``: what a kernel may ask about the target that it is compiled for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tri.language.builtin import builtin

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri_core.target import TargetKey

__all__ = ["current_target"]


@builtin
def current_target(*, _semantic: Builder) -> TargetKey:
    """The target: its ``backend``, ``arch`` and ``features``."""
    return _semantic.target.key
