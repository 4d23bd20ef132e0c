"""Compile-time queries about the target: ``tl.target_info.is_cuda()`` and its like."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tri_core.api import TargetKey

__all__ = ["QUERIES"]


def _is_cuda(key: TargetKey) -> bool:
    return key.backend == "nvidia"


def _capability_geq(key: TargetKey, major: int, minor: int = 0) -> bool:
    digits = re.search(r"\d+", key.arch)
    return _is_cuda(key) and digits is not None and int(digits[0]) >= 10 * major + minor


QUERIES: Mapping[str, Callable[..., bool]] = {"is_cuda": _is_cuda, "cuda_capability_geq": _capability_geq}
