"""The vector level as LLVM IR text."""

from __future__ import annotations

from tri_core.llvm_text import to_llvm_text
from tri_core.mlir import ir, run_passes, verify

__all__ = ["SIMPLIFY", "TO_LLVM", "to_llvm_ir"]

#: passes on the vector level: fold, merge and hoist what the lowering made twice or too deep in
SIMPLIFY = "canonicalize,cse,loop-invariant-code-motion"
#: passes from the vector level to the llvm dialect
TO_LLVM = "convert-scf-to-cf,convert-math-to-llvm,convert-arith-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts"


def to_llvm_ir(module: ir.Module) -> str:
    """Lower ``module`` (``arith``, ``math``, ``scf``, ``llvm``) in place and give it as LLVM IR text.

    It is verified first: MLIR's passes crash on what breaks their dialects' rules.
    """
    verify(module)
    run_passes(module, (SIMPLIFY, TO_LLVM))
    return to_llvm_text(module)
