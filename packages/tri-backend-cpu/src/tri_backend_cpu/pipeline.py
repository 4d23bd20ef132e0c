"""The stages: ttir, llir (LLVM IR text), asm (text), object (the image).

Assembly text is the input of the last stage, so it can be read, changed and compiled on.  LLVM assembles it
for this machine's instruction set only; for any other the object is made from LLVM IR directly.
"""

from __future__ import annotations

from tri_backend_cpu.target import is_host, isa_of
from tri_core.api import (
    CodegenRequest,
    CommonOptions,
    InternalError,
    LLVMTarget,
    Pipeline,
    Stage,
    StageContext,
    StageResult,
    Target,
)
from tri_core.extern_libraries import BITCODE, SHARED_OBJECT, paths_by_kind
from tri_core.mlir import ir

__all__ = ["pipeline"]

#: LLVM's passes before code generation; the vector level has done the rest
LLVM_PASSES = "instcombine,simplifycfg,loop-rotate,simplifycfg"
#: libraries of a program's own: linked, and loaded
KINDS = (BITCODE, SHARED_OBJECT)
#: of code generation
OPT_LEVEL = 2


def pipeline(target: Target, options: CommonOptions) -> Pipeline:
    """The stages for ``target``."""
    del options
    first = [_ttir_stage(), Stage(name="llir", kind="text", run=_llir)]
    if is_host(target.key.arch):
        asm = Stage(name="asm", kind="text", run=_asm)
        return Pipeline(stages=[*first, asm, Stage(name="object", kind="bytes", run=_assemble, final=True)])
    return Pipeline(stages=[*first, Stage(name="object", kind="bytes", run=_object, final=True)])


def _llvm(context: StageContext) -> LLVMTarget:
    llvm = context.target.spec.llvm
    if llvm is None:
        raise InternalError(f"target {context.target} has no LLVM target")
    return llvm


def _llir(module: ir.Module, context: StageContext) -> StageResult:
    from tri_backend_cpu.lower.assembled import check_assembly
    from tri_backend_cpu.lower.context import VectorFeatures
    from tri_backend_cpu.lower.kernel import lower_kernel
    from tri_backend_cpu.lower.translation import to_llvm_ir

    spec = context.target.spec
    features = VectorFeatures(
        bits=spec.max_vector_bits,
        registers=32 if spec.max_vector_bits == 512 or "neon" in spec.features else 16,
        fma=bool(spec.features & {"fma", "neon"}),
        half=bool(spec.features & {"f16c", "neon"}),
        x86=isa_of(context.target.key.arch) == "x86_64",
        predicates="avx512f" in spec.features,
    )
    lowered = lower_kernel(
        module, features, contract=context.options.enable_fp_fusion, checked=context.options.is_checked
    )
    check_assembly(
        module,
        lowered.module,
        str(context.target),
        lambda text: context.codegen.compile(_request(text, "object", context, "")),
    )
    return StageResult(
        artifact=to_llvm_ir(lowered.module),
        resources={"arena": lowered.facts.arena, "stored": lowered.facts.stored},
        entry_points=(lowered.name,),
    )


def _request(text: str, emit: str, context: StageContext, passes: str) -> CodegenRequest:
    llvm = _llvm(context)
    libraries = paths_by_kind(context.options.extern_libs, context.target, KINDS)[BITCODE]
    return CodegenRequest(
        llvm_ir=text,
        triple=llvm.triple,
        cpu=llvm.cpu,
        features=llvm.features,
        emit=(emit,),
        opt_level=OPT_LEVEL,
        passes=f"always-inline,{passes}" if libraries and passes else passes,
        libraries=libraries if passes else (),
    )


def _asm(text: str, context: StageContext) -> StageResult:
    reply = context.codegen.compile(_request(text, "asm", context, LLVM_PASSES))
    return StageResult(artifact=reply.texts["asm"])


def _object(text: str, context: StageContext) -> StageResult:
    reply = context.codegen.compile(_request(text, "object", context, LLVM_PASSES))
    return StageResult(artifact=reply.objects["object"])


def _assemble(text: str, context: StageContext) -> StageResult:
    """Assembly as LLVM's module-level assembly: its integrated assembler makes the object."""
    escaped = text.replace("\\", "\\5C").replace('"', "\\22")
    wrapped = "\n".join(f'module asm "{line}"' for line in escaped.split("\n"))
    reply = context.codegen.compile(_request(wrapped, "object", context, ""))
    return StageResult(artifact=reply.objects["object"])


def _ttir_stage() -> Stage:
    from tri_core.passes import DecomposeOps, ScalarizePackedOps, ttir_stage

    return ttir_stage(rewrites=[ScalarizePackedOps(), DecomposeOps()])
