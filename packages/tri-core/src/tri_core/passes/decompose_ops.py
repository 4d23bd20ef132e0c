"""Ops as what they stand for, for targets whose lowering knows MLIR's ops and ``tt``'s."""

from __future__ import annotations

from typing import ClassVar

from tri_core.ir.rewriting import replace_with
from tri_core.ir.traits import Decomposable, decompose
from tri_core.ir.walking import walk
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes.base import Pass
from tri_core.pipeline import StageContext

__all__ = ["DecomposeOps"]


@dataclass(frozen=True)
class DecomposeOps(Pass):
    """Each op that declares :class:`~tri_core.ir.traits.Decomposable` becomes the ops of its decomposition, also in turn."""

    name: ClassVar[str] = "decompose-ops"
    required: ClassVar[bool] = True

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        found: list[ir.Operation] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            if Decomposable.declared_by(op.name):
                found.append(op)
            return ir.WalkResult.ADVANCE

        walk(module.operation, visit)
        while found:
            op = found.pop()
            made, values = decompose(op)
            replace_with(op, values)
            found.extend(inner for inner in made if Decomposable.declared_by(inner.name))
