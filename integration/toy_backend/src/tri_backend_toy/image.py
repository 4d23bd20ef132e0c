"""The last stage: from LLVM IR to an object of this processor, which the driver loads."""

from __future__ import annotations

import re

from tri_core.api import CodegenRequest, InternalError, Stage, StageContext, StageResult

from tri_backend_toy.options import ToyOptions

__all__ = ["ENTRY", "image_stage"]

#: what the driver calls: ``void <kernel>.launch(ptr block)``, with the address of the packed arguments
ENTRY = "{}.launch"


def image_stage() -> Stage:
    """The stage ``image``."""
    return Stage(name="image", kind="bytes", run=_to_image, final=True)


def _to_image(llvm_ir: str, context: StageContext) -> StageResult:
    """Compile in tri's worker process: what LLVM cannot do is a ToolchainError there, never an abort here."""
    llvm, options = context.target.spec.llvm, context.options
    if llvm is None or not isinstance(options, ToyOptions):
        raise InternalError(f"{context.target} is no target of this backend")
    request = CodegenRequest(
        llvm_ir=llvm_ir + _entry(llvm_ir),
        triple=llvm.triple,
        cpu=llvm.cpu,
        emit=("object",),
        opt_level=options.opt_level,
    )
    return StageResult(artifact=context.codegen.compile(request).objects["object"])


def _entry(llvm_ir: str) -> str:
    """A function that takes the address of the arguments, reads them and calls the kernel.

    A struct of LLVM has each field at its natural alignment, as the packed arguments have.
    """
    found = re.search(r"^define void @(\w+)\((.*?)\) #", llvm_ir, re.MULTILINE)
    if found is None:
        raise InternalError("the module defines no kernel")
    name, parameters = found.groups()
    types = [parameter.rsplit(" ", 1)[0] for parameter in parameters.split(", ") if parameter]
    lines = [f"define void @{ENTRY.format(name)}(ptr %block) {{"]
    for i, type_ in enumerate(types):
        lines.append(f"  %p{i} = getelementptr {{ {', '.join(types)} }}, ptr %block, i32 0, i32 {i}")
        lines.append(f"  %a{i} = load {type_}, ptr %p{i}")
    values = ", ".join(f"{type_} %a{i}" for i, type_ in enumerate(types))
    return "\n".join(["", *lines, f"  call void @{name}({values})", "  ret void", "}", ""])
