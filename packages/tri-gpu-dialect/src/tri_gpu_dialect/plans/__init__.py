"""Plans: what an op that moves data between threads will do, decided from layouts alone, before any code.

A plan knows the scratch memory that it needs, so that allocation and lowering cannot disagree.
"""

from __future__ import annotations

from tri_gpu_dialect.plans import views
from tri_gpu_dialect.plans.conversion import (
    ConversionPlan,
    Exchange,
    ThroughShared,
    block_memory,
    in_words,
    plan_conversion,
)
from tri_gpu_dialect.plans.reduction import ReductionPlan, plan_reduction
from tri_gpu_dialect.plans.scanning import ScanPlan, plan_scan
from tri_gpu_dialect.plans.scratch import NeedsScratch, ScratchMeasure, ScratchMeasures

__all__ = [
    "ConversionPlan",
    "Exchange",
    "NeedsScratch",
    "ReductionPlan",
    "ScanPlan",
    "ScratchMeasure",
    "ScratchMeasures",
    "ThroughShared",
    "block_memory",
    "in_words",
    "plan_conversion",
    "plan_reduction",
    "plan_scan",
    "views",
]
