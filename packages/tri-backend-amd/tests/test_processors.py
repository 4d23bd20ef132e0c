"""The rows of processors against LLVM: number, modes and registers of a SIMD; and a kernel for each, to a linked object."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace

import llvmlite.binding as llvm
import pytest
from elftools.elf.elffile import ELFFile

from amd_support import compile_body, context_of, target_of
from tri_backend_amd.architectures import TRIPLE
from tri_backend_amd.hsaco import read_code_object
from tri_backend_amd.hsaco.stages import assembly_and_object_stages
from tri_backend_amd.lowering import AmdPrimitives
from tri_backend_amd.processors import FAMILIES, PROCESSORS
from tri_core.api import ToolchainError
from tri_core.mlir import ir
from tri_core.occupancy import occupancy
from tri_gpu_dialect.lowering import Access, Builder

#: a kernel that needs 104 registers, which no processor rounds up to the same waves as its neighbours
REGISTERS = 104
TEXT = f"""\
target triple = "{TRIPLE}"
define amdgpu_kernel void @k() #0 {{
  call void asm sideeffect "; needs them", "~{{v{REGISTERS - 1}}}"()
  ret void
}}
attributes #0 = {{ "amdgpu-flat-work-group-size"="1,64" }}
!llvm.module.flags = !{{!0}}
!0 = !{{i32 1, !"amdhsa_code_object_version", i32 500}}
"""


def _machine(name: str) -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=name)


def _occupancy(name: str) -> int:
    """Wavefronts of a SIMD that LLVM counts for the kernel; it says so in a comment."""
    machine = _machine(name)
    machine.set_asm_verbosity(True)
    said = re.search(r"; Occupancy: (\d+)", machine.emit_assembly(llvm.parse_assembly(TEXT)))
    assert said is not None
    return int(said[1])


def _flags(name: str) -> int:
    # LLVM here has no parser of assembly, so none may be in an object
    text = "".join(line for line in TEXT.splitlines(keepends=True) if "asm" not in line)
    data = _machine(name).emit_object(llvm.parse_assembly(text))
    return int(ELFFile(io.BytesIO(data))["e_flags"])


@pytest.mark.parametrize("name", PROCESSORS)
def test_a_row_is_what_llvm_says(name: str) -> None:
    row, flags = PROCESSORS[name], _flags(name)
    assert flags & 0xFF == row.machine
    may = {mode for mode, mask in (("xnack", 0x300), ("sramecc", 0xC00)) if flags & mask}
    assert may == FAMILIES[row.family].modes
    unit = target_of(name).spec.unit
    assert unit is not None
    found = occupancy(replace(unit, blocks=1 << 10), warps=unit.partitions, registers=REGISTERS, shared=0)
    assert found.blocks == _occupancy(name)


def body(b: Builder, hw: AmdPrimitives, args: Sequence[ir.Value]) -> None:
    hw.store_global(b, args[0], hw.load_global(b, args[1], b.i32, None, None, Access(4)), None, Access(4))


@pytest.mark.parametrize("name", PROCESSORS)
def test_a_kernel_is_linked_for_every_processor(name: str) -> None:
    made = compile_body(name, body)
    assert made.code.processor == name
    assert not made.code.modes
    assert made.resources["registers"] > 0


@pytest.mark.parametrize(
    ("features", "modes"),
    [
        (":sramecc+:xnack-", {"sramecc": True, "xnack": False}),
        (":xnack+", {"xnack": True}),
        (":sramecc-", {"sramecc": False}),
    ],
)
def test_modes_reach_the_code_object(features: str, modes: dict[str, bool]) -> None:
    made = compile_body("gfx942" + features, body)
    assert dict(made.code.modes) == modes
    assert made.code.target_id.endswith("gfx942" + features)


def test_code_in_another_mode_is_no_code_for_the_target() -> None:
    assembly = compile_body("gfx942:xnack+", body).assembly
    amdgcn, hsaco = assembly_and_object_stages()
    del amdgcn
    with pytest.raises(ToolchainError, match=r"for gfx942:xnack\+, the target is amd:gfx942:xnack-"):
        hsaco.run(assembly, context_of("gfx942:xnack-"))
    again = hsaco.run(assembly, context_of("gfx942:xnack+")).artifact
    assert dict(read_code_object(again).modes) == {"xnack": True}
