"""The last stage: from LLVM IR to an object of this processor."""

from __future__ import annotations

from tri_core.api import CodegenRequest, InternalError, Stage, StageContext, StageResult

__all__ = ["image_stage"]


def image_stage() -> Stage:
    """Stage ``image``."""
    return Stage(name="image", kind="bytes", run=_to_image, final=True)


def _to_image(llvm_ir: str, context: StageContext) -> StageResult:
    """Compile in tri's worker process: what LLVM cannot do is a ToolchainError there, never an abort here."""
    llvm = context.target.spec.llvm
    if llvm is None:
        raise InternalError(f"{context.target} is no target of this backend")
    request = CodegenRequest(
        llvm_ir=llvm_ir, triple=llvm.triple, cpu=llvm.cpu, emit=("object",), opt_level=2, loop_vectorize=True
    )
    return StageResult(artifact=context.codegen.compile(request).objects["object"])
