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
    for op in _refused(module):
        raise Unsupported(
            f"{op.name} on {context.target}",
            location=source_location(op.location),
            remedy="the toy machine executes straight-line kernels with reductions; use another target",
        )
    text = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)
    return StageResult(artifact=text.encode(), entry_points=(context.kernel_name,))


def _refused(module: ir.Module) -> list[Any]:
    """Ops inside the module's functions that the machine has no rule for, in order."""
    found: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name not in OPS:
            found.append(op)
        return ir.WalkResult.ADVANCE

    for function in module.body.operations:
        for inner in function.regions[0].blocks[0].operations:
            inner.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found
