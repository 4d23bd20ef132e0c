"""The stage ``llir``: upstream passes alone, from ``linalg`` on tensors to loops over memory, and to LLVM IR."""

from __future__ import annotations

from dataclasses import dataclass

from tri_core.api import Pass, Stage, StageContext, StageResult
from tri_core.ir.views import isa
from tri_core.ir.walking import collect
from tri_core.llvm_text import to_llvm_text
from tri_core.mlir import ir, linalg, memref, run_passes

from tri_backend_loops.entry import entry

__all__ = ["CopyByLoops", "llir_stage"]

#: tensors become memory, which is freed where it is no longer used
BUFFERS = (
    "func.func(convert-elementwise-to-linalg)",
    "func.func(linalg-fuse-elementwise-ops)",
    "canonicalize",
    "cse",
    "eliminate-empty-tensors",
    "one-shot-bufferize{allow-return-allocs-from-loops}",
    "buffer-deallocation-pipeline",
    "canonicalize",
)
#: loops, then branches, then LLVM's words
LOOPS = (
    "func.func(convert-linalg-to-loops)",
    "expand-strided-metadata",
    "lower-affine",
    "convert-scf-to-cf",
    "canonicalize",
    "cse",
    "convert-math-to-llvm",
    "convert-math-to-libm",
    "arith-expand",
    "convert-arith-to-llvm",
    "convert-index-to-llvm",
    "finalize-memref-to-llvm",
    "convert-func-to-llvm",
    "convert-cf-to-llvm",
    "convert-ub-to-llvm",
    "reconcile-unrealized-casts",
)


@dataclass(frozen=True)
class CopyByLoops(Pass):
    """``linalg.copy`` for ``memref.copy``, which would become a call of MLIR's runtime library where strides are not those of rows."""

    name = "copy-by-loops"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Replace each copy."""
        for op in [op for op in collect(module.operation) if isa(op, memref.CopyOp)]:
            source, target = op.operands
            with op.location, ir.InsertionPoint(op):
                made = linalg.CopyOp([], [source], [target]).operation
                linalg.fill_builtin_region(made)
            op.erase()


def llir_stage() -> Stage:
    """Stage ``llir``."""
    return Stage(name="llir", kind="text", run=_to_llvm_ir)


def _to_llvm_ir(module: ir.Module, context: StageContext) -> StageResult:
    (function,) = module.body.operations
    launch = entry(function.operation)
    run_passes(module, BUFFERS)
    CopyByLoops().apply(module, context)
    run_passes(module, LOOPS)
    return StageResult(artifact=to_llvm_text(module) + launch)
