"""Compile-time queries about the target: ``tl.target_info.is_hip()`` and its like."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tri_core.api import TargetKey

__all__ = ["QUERIES"]


def _is(processor: str) -> Callable[[TargetKey], bool]:
    return lambda key: key.backend == "amd" and key.arch.startswith(processor)


QUERIES: Mapping[str, Callable[..., bool]] = {
    "is_hip": _is(""),
    "is_hip_cdna3": _is("gfx942"),
    "is_hip_cdna4": _is("gfx950"),
    "is_hip_gfx1250": _is("gfx1250"),
}
