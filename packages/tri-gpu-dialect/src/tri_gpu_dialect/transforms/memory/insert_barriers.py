"""Puts barriers between accesses of memory that conflict, and nowhere else.

Which accesses of shared memory these are is said in :mod:`.hazards`, which of global memory in :mod:`.global_hazards`; what else has to stand between them on hardware where copies and dots run beside
the threads, in :mod:`tri_gpu_dialect.async_units.proxy_ordering`.
"""

from __future__ import annotations

from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.edit import functions
from tri_gpu_dialect.plans.scratch import SHARED, ScratchMeasures
from tri_gpu_dialect.transforms.memory.global_hazards import GlobalWalk
from tri_gpu_dialect.transforms.memory.hazards import Walk

__all__ = ["InsertBarriers"]


@dataclass(frozen=True)
class InsertBarriers(Pass):
    """See the module; runs after ``allocate-shared-memory``, with the same ``measures`` of scratch memory."""

    name: ClassVar[str] = "insert-barriers"
    required: ClassVar[bool] = True

    measures: ScratchMeasures = SHARED

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Insert ``ttg.barrier`` ops."""
        for function in functions(module):
            Walk.through(function, self.measures)
            GlobalWalk.through(function)
