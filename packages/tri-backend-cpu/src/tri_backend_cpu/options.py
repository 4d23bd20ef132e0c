"""Options of a compile for a CPU."""

from __future__ import annotations

from tri_core.api import CommonOptions
from tri_core.lazy_dataclasses import dataclass

__all__ = ["CpuOptions"]


@dataclass(frozen=True, kw_only=True)
class CpuOptions(CommonOptions):
    """The common options; ``num_warps``, ``num_stages`` and ``num_ctas`` change nothing on a CPU."""
