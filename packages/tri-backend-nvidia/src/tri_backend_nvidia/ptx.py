"""The stage ``ptx``: LLVM IR text to PTX, by LLVM's NVPTX target in the codegen worker."""

from __future__ import annotations

import re

from tri_backend_nvidia.libdevice import libdevice
from tri_backend_nvidia.options import nvidia_options
from tri_backend_nvidia.ptx_libraries import PTX, with_functions
from tri_backend_nvidia.ptxas import every
from tri_core.api import CodegenRequest, InternalError, Stage, StageContext, StageResult, VerificationError
from tri_core.extern_libraries import BITCODE, Kind, paths_by_kind

__all__ = ["entry_points", "ptx_stage", "text_stage"]

_ENTRY = re.compile(r"^\.visible \.entry (\w+)\(", re.MULTILINE)
_TARGET = re.compile(r"^(\.target \w+), debug$", re.MULTILINE)


def entry_points(ptx: str) -> tuple[str, ...]:
    """The kernels of ``ptx``, in order."""
    return tuple(_ENTRY.findall(ptx))


def _features(context: StageContext, default: str) -> str:
    """LLVM's features: the PTX version, from the options or the architecture's row."""
    options = context.options
    asked = nvidia_options(options).ptx_version
    return f"+ptx{asked}" if asked else default


def _libraries(llvm_ir: str, context: StageContext) -> tuple[str, ...]:
    """The program's own libraries; libdevice, for kernels that call it: finding and linking it takes time."""
    own = _own(context)[BITCODE]
    if "@__nv_" not in llvm_ir and not own:
        return ()
    override = context.knobs.get("NVIDIA_LIBDEVICE")
    return (*own, str(libdevice(str(override) if override else None)))


def _own(context: StageContext) -> dict[Kind, tuple[str, ...]]:
    return paths_by_kind(context.options.extern_libs, context.target, (BITCODE, PTX))


def _run(llvm_ir: str, context: StageContext) -> StageResult:
    llvm = context.target.spec.llvm
    if llvm is None:
        raise InternalError(f"{context.target} does not say how LLVM generates code for it")
    reply = context.codegen.compile(
        CodegenRequest(
            llvm_ir=llvm_ir,
            triple=llvm.triple,
            cpu=llvm.cpu,
            features=_features(context, llvm.features),
            emit=("asm",),
            libraries=_libraries(llvm_ir, context),
        )
    )
    # a module with line numbers is marked for debugging, which makes ptxas serialise matrix instructions
    text = with_functions(_TARGET.sub(r"\1", reply.texts["asm"]), _own(context)[PTX])
    return StageResult(artifact=text, entry_points=entry_points(text))


def ptx_stage() -> Stage:
    """From LLVM IR text to PTX text."""
    return Stage(name="ptx", kind="text", run=_run)


def _rewritten(ptx: str, context: StageContext) -> StageResult:
    from tri_backend_nvidia.text import TextProgram

    text, steps = every(context.target.key.arch).apply(ptx)
    kernels = entry_points(text)
    if not kernels:
        raise VerificationError(
            "the PTX text has no entry", remedy="give a module with a kernel: .visible .entry name(...)"
        )
    for name in kernels:
        TextProgram(text, name)  # an unknown instruction is refused here, as an assembler does
    attrs = {"ptx_rewritings": list(steps)} if steps else {}
    return StageResult(artifact=text, entry_points=kernels, attrs=attrs)


def text_stage() -> Stage:
    """From PTX text to that which an assembler is given: with all that any version of ptxas gets wrong said otherwise.

    It is decoded, too: VerificationError for text without an entry, Unsupported for an instruction that is not known.
    """
    return Stage(name="text", kind="text", run=_rewritten, final=True)
