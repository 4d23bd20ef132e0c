"""Common subexpressions."""

from __future__ import annotations

from typing import ClassVar

from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir, run_passes
from tri_core.passes.base import Pass
from tri_core.pipeline import StageContext

__all__ = ["CSE"]


@dataclass(frozen=True)
class CSE(Pass):
    """Replaces an op by an equal one before it: pure ops, and loads with no write in between."""

    name: ClassVar[str] = "cse"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        run_passes(module, "cse")
