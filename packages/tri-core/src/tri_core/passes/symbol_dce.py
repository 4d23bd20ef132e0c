"""Functions that nobody calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from tri_core.dialects.tt import CallOp, FuncOp
from tri_core.ir.views import isa
from tri_core.ir.walking import walk
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes.base import Pass
from tri_core.pipeline import StageContext

__all__ = ["SymbolDCE"]


@dataclass(frozen=True)
class SymbolDCE(Pass):
    """Erases the private ``tt.func`` that no public one reaches through calls."""

    name: ClassVar[str] = "symbol-dce"
    required: ClassVar[bool] = True

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        functions = {_name(op): op for op in module.body.operations if isa(op.operation, FuncOp)}
        waiting = [name for name, function in functions.items() if _is_public(function)]
        reached = set(waiting)
        if len(reached) == len(functions):
            return
        while waiting:
            for callee in _callees(functions[waiting.pop()].operation):
                if callee not in reached and callee in functions:
                    reached.add(callee)
                    waiting.append(callee)
        for name in functions.keys() - reached:
            functions[name].operation.erase()


def _name(function: ir.OpView) -> str:
    return ir.StringAttr(function.attributes["sym_name"]).value


def _is_public(function: ir.OpView) -> bool:
    """As everywhere in MLIR: public unless it says otherwise."""
    attributes = function.attributes
    return "sym_visibility" not in attributes or ir.StringAttr(attributes["sym_visibility"]).value == "public"


def _callees(function: ir.Operation) -> Iterator[str]:
    names: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if isa(op, CallOp):
            names.append(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
        return ir.WalkResult.ADVANCE

    walk(function, visit)
    return iter(names)
