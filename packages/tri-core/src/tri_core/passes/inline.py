"""Calls replaced by what they call."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from tri_core.dialects.tt import CallOp, FuncOp
from tri_core.errors import CompilationError, Unsupported, VerificationError
from tri_core.ir.views import isa
from tri_core.ir.walking import walk
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_core.passes.base import Pass
from tri_core.pipeline import StageContext

__all__ = ["Inline"]


@dataclass(frozen=True)
class Inline(Pass):
    """Expands every ``tt.call``; an inlined op's location says where it was called from.

    Functions must have one block: :class:`~tri_core.passes.cf_to_scf.CfToScf` comes before.

    Upstream's inliner refuses our ops (they lack its interface).  Raises CompilationError for recursion.
    """

    name: ClassVar[str] = "inline"
    required: ClassVar[bool] = True

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        inliner = _Inliner(
            {
                ir.StringAttr(op.attributes["sym_name"]).value: op.operation
                for op in module.body.operations
                if isa(op.operation, FuncOp)
            }
        )
        for name in inliner.functions:
            inliner.expand(name)


@dataclass
class _Inliner:
    """Expands callees before callers, so that each body is copied with nothing left to expand in it."""

    functions: dict[str, ir.Operation]
    done: set[str] = field(default_factory=set)
    path: list[str] = field(default_factory=list)

    def expand(self, name: str) -> None:
        """Expand all calls in function ``name``."""
        if name in self.done:
            return
        self.path.append(name)
        for call in _calls(self.functions[name]):
            callee = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
            self._check(callee, call)
            self.expand(callee)
            _splice(self.functions[callee], call)
        self.path.pop()
        self.done.add(name)

    def _check(self, callee: str, call: ir.Operation) -> None:
        if callee not in self.functions:
            raise VerificationError(
                f"tt.call of {callee!r}, which the module does not define",
                location=source_location(call.location),
            )
        if callee in self.path:
            chain = " -> ".join([*self.path[self.path.index(callee) :], callee])
            raise CompilationError(
                f"{callee} calls itself ({chain}); kernels cannot recurse",
                remedy="write a loop",
                location=source_location(call.location),
            )


def _calls(function: ir.Operation) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if isa(op, CallOp):
            found.append(op)
        return ir.WalkResult.ADVANCE

    walk(function, visit)
    return found


def _splice(callee: ir.Operation, call: ir.Operation) -> None:
    """Put a copy of the body of ``callee`` in the place of ``call``."""
    copy = callee.clone(ip=False)
    blocks = list(copy.regions[0].blocks)
    if len(blocks) != 1:
        raise Unsupported(
            f"the function called here has {len(blocks)} blocks; structured control flow is expected",
            remedy="run the pass cf-to-scf before",
            location=source_location(call.location),
        )
    (body,) = blocks
    for argument, operand in zip(body.arguments, call.operands, strict=True):
        argument.replace_all_uses_with(operand)
    *operations, end = [op.operation for op in body.operations]
    for op in operations:
        op.move_before(call)
        _set_call_site(op, call.location)
    for result, value in zip(call.results, end.operands, strict=True):
        result.replace_all_uses_with(value)
    end.erase()
    call.erase()


def _set_call_site(root: ir.Operation, caller: ir.Location) -> None:
    def visit(op: ir.Operation) -> ir.WalkResult:
        op.location = ir.Location.callsite(op.location, [caller])
        return ir.WalkResult.ADVANCE

    walk(root, visit)
