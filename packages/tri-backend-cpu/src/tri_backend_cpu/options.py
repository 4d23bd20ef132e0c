"""Options of a compile for a CPU."""

from __future__ import annotations

from dataclasses import dataclass

from tri_core.api import CommonOptions

__all__ = ["CpuOptions"]


@dataclass(frozen=True, kw_only=True)
class CpuOptions(CommonOptions):
    """The common options; ``num_warps``, ``num_stages`` and ``num_ctas`` change nothing on a CPU."""
