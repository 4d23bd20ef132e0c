"""The last stage: from LLVM IR to a RISC-V object.  It needs neither emulator nor linker: those come with a launch."""

from __future__ import annotations

import re

from tri_core.api import (
    CodegenRequest,
    InternalError,
    LLVMTarget,
    Stage,
    StageContext,
    StageResult,
    Unsupported,
)

__all__ = ["codegen_request", "object_stage"]

#: LLVM's passes before code generation: loops of vector instructions come in, and stay as they are
PASSES = "instcombine,simplifycfg,loop-rotate,simplifycfg,newgvn,dce"
#: an instruction of the vector extension in assembly: its mnemonic starts with a v
_VECTOR = re.compile(r"^\s+v[a-z0-9]+\.?[a-z0-9.]*\s", re.MULTILINE)


def object_stage() -> Stage:
    """The stage ``object``."""
    return Stage(name="object", kind="bytes", run=_to_object, final=True)


def codegen_request(llvm_ir: str, llvm: LLVMTarget) -> CodegenRequest:
    """Request for assembly (to look at) and object of ``llvm_ir``."""
    return CodegenRequest(
        llvm_ir=llvm_ir,
        triple=llvm.triple,
        cpu=llvm.cpu,
        features=llvm.features,
        emit=("asm", "object"),
        opt_level=2,
        passes=PASSES,
    )


def _to_object(llvm_ir: str, context: StageContext) -> StageResult:
    """Compile in tri's worker process: what LLVM cannot do is a ToolchainError there, never an abort here."""
    llvm = context.target.spec.llvm
    if llvm is None:
        raise InternalError(f"{context.target} is no target of this backend")
    if context.options.extern_libs:
        remedy = "write the functions in the kernel language"
        raise Unsupported("Riscv links no libraries", remedy=remedy)
    reply = context.codegen.compile(codegen_request(llvm_ir, llvm))
    count = len(_VECTOR.findall(reply.texts["asm"]))
    return StageResult(artifact=reply.objects["object"], resources={"vector_instructions": count})
