"""Intrinsics that MLIR's LLVM has in another form than the code generator's, which is newer.

MLIR checks the operands of an intrinsic as it translates.  So these are called as functions under a name of ours, and get LLVM's name
in the text that goes to the code generator, which checks them in its turn.
"""

from __future__ import annotations

__all__ = ["OURS", "with_names_of_llvm"]

#: what the names of such functions begin with, where LLVM's begin with ``llvm.amdgcn.``
OURS = "tri.amdgcn."


def with_names_of_llvm(llvm_ir: str) -> str:
    """``llvm_ir`` with the intrinsics' own names."""
    return llvm_ir.replace(f"@{OURS}", "@llvm.amdgcn.")
