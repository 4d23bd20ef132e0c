"""The stage ``linalg`` of pipelines."""

from __future__ import annotations

from tri_core.linalg.lower import to_linalg
from tri_core.mlir import ir
from tri_core.pipeline import Stage, StageContext, StageResult

__all__ = ["linalg_stage"]


def linalg_stage() -> Stage:
    """Stage ``linalg``, which comes after ``ttir`` and makes upstream dialects of it."""

    def run(module: ir.Module, context: StageContext) -> StageResult:
        return StageResult(artifact=to_linalg(module), entry_points=(context.kernel_name,))

    return Stage(name="linalg", kind="module", run=run)
