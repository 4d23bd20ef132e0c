"""Analyses of TTIR and TTGIR."""

from __future__ import annotations

from tri_gpu_dialect.analysis.axis_info import AxisInfo, AxisInfos, axis_info

__all__ = ["AxisInfo", "AxisInfos", "axis_info"]
