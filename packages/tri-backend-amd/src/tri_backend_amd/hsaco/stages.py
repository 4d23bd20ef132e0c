"""The stages ``amdgcn`` (assembly) and ``hsaco`` (linked code object).

The assembly is a listing of the object that LLVM makes, so usually nothing is assembled: the object of an assembly
text is kept until the next stage asks for it.  Text from elsewhere (an edited dump) goes through clang.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from dataclasses import field
from pathlib import Path

from tri_backend_amd import newer_intrinsics, tools
from tri_backend_amd.architectures import CODE_OBJECT_VERSION, TRIPLE
from tri_backend_amd.hsaco import atomics
from tri_backend_amd.hsaco.code_object import KernelRecord, read_code_object
from tri_backend_amd.hsaco.disassembly import disassemble
from tri_backend_amd.hsaco.emission import OneRun
from tri_backend_amd.hsaco.waves import WorkGroups
from tri_backend_amd.options import amd_options
from tri_backend_amd.target_ids import checked_modes
from tri_core.api import (
    CodegenRequest,
    InternalError,
    LLVMTarget,
    Stage,
    StageContext,
    StageResult,
    ToolchainError,
)
from tri_core.extern_libraries import BITCODE, paths_by_kind
from tri_core.lazy_dataclasses import dataclass

__all__ = ["assembly_and_object_stages"]

_TARGET_LINE = re.compile(r'^\s*\.amdgcn_target\s+"([^"]*)"', re.MULTILINE)
_VERSION_OPTION = f"--amdhsa-code-object-version={CODE_OBJECT_VERSION // 100}"


def assembly_and_object_stages() -> tuple[Stage, Stage]:
    """The last two stages of an AMD pipeline; they share the object of one compile."""
    shared = _Objects()
    return (
        Stage(name="amdgcn", kind="text", run=shared.generate),
        Stage(
            name="hsaco",
            kind="bytes",
            run=shared.link,
            final=True,
            disassemblers={"disassembly": disassemble},
        ),
    )


@dataclass
class _Objects:
    """Relocatable objects by the digest of their assembly."""

    by_text: dict[str, bytes] = field(default_factory=dict)

    def generate(self, llvm_ir: str, context: StageContext) -> StageResult:
        """LLVM IR to assembly; keeps the object."""
        # whoever says how many wavefronts there are to be has them
        unit = None if amd_options(context.options).waves_per_eu else context.target.spec.unit
        groups = WorkGroups(OneRun(context.codegen), unit, context.options.num_warps)
        reply = groups.generate(_request(llvm_ir, context))
        text = reply.texts["asm"]
        self.by_text[_digest(text)] = reply.objects["object"]
        return StageResult(artifact=text)

    def link(self, assembly: str, context: StageContext) -> StageResult:
        """Assembly to a linked code object, checked against the target."""
        made = self.by_text.pop(_digest(assembly), None)
        with tempfile.TemporaryDirectory(prefix="tri-amd-") as folder:
            source = Path(folder, "kernel.o")
            if made is None:
                _assemble(assembly, source, context)
            else:
                source.write_bytes(made)
            data = _link(source, context)
        return _checked(data, context)


def _request(llvm_ir: str, context: StageContext) -> CodegenRequest:
    machine = _machine(context)
    return CodegenRequest(
        llvm_ir=atomics.on_device_memory(newer_intrinsics.with_names_of_llvm(llvm_ir)),
        triple=machine.triple,
        cpu=machine.cpu,
        features=machine.features,
        llvm_options=(_VERSION_OPTION,),
        libraries=paths_by_kind(context.options.extern_libs, context.target, (BITCODE,))[BITCODE],
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _machine(context: StageContext) -> LLVMTarget:
    machine = context.target.spec.llvm
    if machine is None:
        raise InternalError(f"{context.target} is not an AMD target")
    return machine


def _assemble(assembly: str, output: Path, context: StageContext) -> None:
    machine = _machine(context)
    source = output.with_suffix(".s")
    source.write_text(assembly)
    command = tools.find(tools.ASSEMBLER, context.knobs.get("AMD_CLANG"))
    processor = ":".join((machine.cpu, *context.target.key.features))
    said = _TARGET_LINE.search(assembly)
    if said is not None and said[1] != f"{TRIPLE}--{processor}":
        raise _wrong_processor("the assembly", said[1], context)
    options = ("-x", "assembler", "-target", machine.triple, f"-mcpu={processor}")
    tools.run(tools.ASSEMBLER, command, ("-c", *options, str(source), "-o", str(output)))


def _link(source: Path, context: StageContext) -> bytes:
    output = source.with_suffix(".hsaco")
    command = tools.find(tools.LINKER, context.knobs.get("AMD_LLD"))
    tools.run(tools.LINKER, command, ("-shared", "--no-undefined", str(source), "-o", str(output)))
    return output.read_bytes()


def _checked(data: bytes, context: StageContext) -> StageResult:
    """The code object with what its metadata says; ToolchainError when it is for another processor."""
    linked = read_code_object(data)
    key = context.target.key
    if linked.processor != key.arch or linked.modes != checked_modes(str(key), key.arch, key.features):
        raise _wrong_processor("the code object", linked.target_id, context)
    kernel = next(iter(linked.kernels.values()))
    return StageResult(artifact=data, resources=_resources(kernel), entry_points=tuple(linked.kernels))


def _wrong_processor(what: str, target_id: str, context: StageContext) -> ToolchainError:
    return ToolchainError(
        f"{what} is for {target_id.removeprefix(TRIPLE + '--')}, the target is {context.target}",
        remedy="assembly carries its processor: compile it for that target",
        tool="ld.lld",
        returncode=None,
        log="",
    )


def _resources(kernel: KernelRecord) -> dict[str, int]:
    """Counts under the names of the target's limits (accumulation registers are in ``registers``); spills and scratch are bytes per work item."""
    facts = kernel.metadata
    return {
        "shared": kernel.descriptor.group_segment,
        "threads": facts[".max_flat_workgroup_size"],
        "registers": facts[".vgpr_count"],
        "sgprs": facts[".sgpr_count"],
        "spills": 4 * facts[".vgpr_spill_count"],
        "scratch": kernel.descriptor.private_segment,
    }
