"""Loop-invariant code motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tri_core.mlir import ir, run_passes
from tri_core.passes.base import Pass
from tri_core.pipeline import StageContext

__all__ = ["LICM"]


@dataclass(frozen=True)
class LICM(Pass):
    """Moves pure ops with invariant operands out of loops.

    Loads stay where they are: a loop may run zero times, and its stores may write what is read.
    """

    name: ClassVar[str] = "licm"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        run_passes(module, "loop-invariant-code-motion")
