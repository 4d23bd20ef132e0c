"""The toy pipeline: it leaves the common way at TTIR and refuses what the machine cannot do."""

from __future__ import annotations

from typing import Any

from tri_backend_toy.machine import OPS
from tri_core.api import Pipeline, Stage, StageContext, StageResult, Unsupported
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_core.passes import ttir_stage

__all__ = ["pipeline"]


def pipeline() -> Pipeline:
    """``ttir`` and ``toy``: checked TTIR text."""
    return Pipeline(stages=(ttir_stage(), Stage(name="toy", kind="bytes", run=_emit, final=True)))


def _emit(module: ir.Module, context: StageContext) -> StageResult:
    def check(op: Any) -> Any:
        if op.name not in OPS:
            raise Unsupported(
                f"{op.name} on {context.target}",
                location=source_location(op.location),
                remedy="the toy machine executes straight-line kernels with reductions; use another target",
            )
        return ir.WalkResult.ADVANCE

    for op in module.body.operations:
        for block in op.regions[0].blocks:
            for inner in block.operations:
                inner.operation.walk(check)
    text = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)
    return StageResult(artifact=text.encode(), entry_points=(context.kernel_name,))
