"""The stage ``spv``: LLVM IR text to a SPIR-V binary."""

from __future__ import annotations

from dataclasses import replace

from tri_backend_intel.architectures import ARCHITECTURES
from tri_backend_intel.lowering import PRECISE
from tri_backend_intel.options import intel_options
from tri_backend_intel.spirv.cache_controls import on_casts, with_cache_controls
from tri_backend_intel.spirv.contraction import with_contraction
from tri_backend_intel.spirv.disassembly import disassemble, read_disassembly
from tri_backend_intel.spirv.legalize import legalize
from tri_backend_intel.spirv.lines import with_lines, with_markers
from tri_backend_intel.spirv.negation import without_negation
from tri_backend_intel.spirv.reader import SpirvModule, read_module
from tri_backend_intel.spirv.registers import Judged, judge, register_modes
from tri_core.api import (
    CodegenRequest,
    CodegenService,
    InternalError,
    Stage,
    StageContext,
    StageResult,
    Target,
    Unsupported,
)
from tri_core.extern_libraries import BITCODE, paths_by_kind

__all__ = ["common_options", "spirv_stage"]


def spirv_stage() -> Stage:
    """The last stage of an Intel pipeline."""
    return Stage(
        name="spv",
        kind="bytes",
        run=_to_spirv,
        final=True,
        disassemblers={"spvasm": disassemble},
        listings={"spvasm": read_disassembly},
    )


def common_options(llvm_ir: str) -> str:
    """Options of the driver's compiler for a kernel, whatever its register mode."""
    return "-cl-fp32-correctly-rounded-divide-sqrt" if f'"{PRECISE}"' in llvm_ir else ""


def _to_spirv(llvm_ir: str, context: StageContext) -> StageResult:
    target = context.target
    if target.spec.llvm is None:
        raise InternalError(f"{target} is not an Intel target")
    lines = bool(context.knobs.get("LINE_INFO"))
    libraries = paths_by_kind(context.options.extern_libs, target, (BITCODE,))[BITCODE]
    data = _generate(
        llvm_ir, target, context.codegen, libraries, lines=lines, fuse=context.options.enable_fp_fusion
    )
    module = read_module(data)
    _check(module, target)
    judged = _judged(data, llvm_ir, context)
    return StageResult(
        artifact=data,
        resources=judged.resources,
        attrs={
            "build_options": judged.modes[0],
            **({"register_modes": judged.modes} if len(judged.modes) > 1 else {}),
            **({"remarks": (judged.remark,)} if judged.remark is not None else {}),
            **_facts(module),
        },
    )


def _judged(data: bytes, llvm_ir: str, context: StageContext) -> Judged:
    """The register modes that are left, each with the options that all have."""
    target, given = context.target, context.knobs.get("INTEL_OCLOC")
    words = common_options(llvm_ir)
    modes = register_modes(intel_options(context.options), target)
    modes = tuple(" ".join(filter(None, (mode, words))) for mode in modes)
    device = ARCHITECTURES[target.key.arch].ocloc
    return judge(data, target, modes, device, str(given) if given is not None else None)


def _generate(
    llvm_ir: str,
    target: Target,
    codegen: CodegenService,
    libraries: tuple[str, ...],
    *,
    lines: bool,
    fuse: bool,
) -> bytes:
    """Link ``libraries``, optimise, spell out what cannot be selected, emit: two jobs; with source ``lines`` if they are wanted.

    With ``fuse``, the driver may contract what all of the kernel's operations allow.

    The second one has a process that has seen no other module: LLVM's SPIR-V target keeps the numbers of basic
    blocks, and gives them again to blocks that happen to lie at the same address.
    """
    assert target.spec.llvm is not None
    optimised = CodegenRequest(
        llvm_ir=llvm_ir,
        triple=target.spec.llvm.triple,
        emit=("llvm-ir",),
        llvm_options=(_extension_option(target),),
        libraries=libraries,
    )
    text = with_cache_controls(legalize(codegen.compile(optimised).texts["llvm-ir"]))
    if fuse:
        text = with_contraction(text)
    if not target.has("gpu"):
        text = without_negation(text)
    text, places = with_markers(text) if lines else (text, ())
    emitted = replace(optimised, llvm_ir=text, emit=("object",), passes="", isolated=True, libraries=())
    data = codegen.compile(emitted).objects["object"]
    return on_casts(with_lines(data, places) if lines else data)


def _extension_option(target: Target) -> str:
    """The SPIR-V extensions that LLVM may use; with all of them, it would use ones that drivers lack."""
    names = sorted(f for f in target.spec.features if f.startswith("SPV_"))
    return "-spirv-ext=" + ",".join(f"+{name}" for name in names)


def _check(module: SpirvModule, target: Target) -> None:
    """Unsupported for 64-bit floats on a GPU without them: its driver would refuse, or emulate them slowly."""
    if "Float64" in module.capabilities and not target.has("fp64"):
        raise Unsupported(
            f"the kernel uses 64-bit floats, which {target} lacks", remedy="use fp32 in the kernel"
        )


def _facts(module: SpirvModule) -> dict[str, object]:
    return {
        "spirv_version": ".".join(map(str, module.version)),
        "spirv_capabilities": sorted(module.capabilities),
        "spirv_extensions": sorted(module.extensions),
    }
