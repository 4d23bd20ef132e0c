"""The assembly that is shown for a kernel is that of the object that is launched: another LLVM assembles it to the same code, descriptor and metadata."""

from __future__ import annotations

from pathlib import Path

import pytest

import tri
from integration.bench_amd_static.cases import CASES, Case, kernel_of, source_of
from tri_backend_amd import tools
from tri_backend_amd.hsaco import KernelRecord, read_code_object
from tri_core import knobs


def _kernel(data: bytes) -> KernelRecord:
    (kernel,) = read_code_object(data).kernels.values()
    return kernel


def _assembled(text: str, arch: str, folder: Path) -> KernelRecord:
    source, made, linked = folder / "k.s", folder / "k.o", folder / "k.hsaco"
    source.write_text(text)
    options = ("-x", "assembler", "-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}", "-c")
    tools.run(tools.ASSEMBLER, tools.find(tools.ASSEMBLER), (*options, str(source), "-o", str(made)))
    tools.run(tools.LINKER, tools.find(tools.LINKER), ("-shared", str(made), "-o", str(linked)))
    return _kernel(linked.read_bytes())


def _held(case: Case, folder: Path) -> str:
    """The assembly of ``case``, after it has been compared."""
    options = {"num_warps": case.warps, "num_stages": case.stages}
    made = tri.compile(
        source_of(tri.ASTSource, kernel_of(case), case), target=f"amd:{case.chip}", options=options
    )
    text, data = made.asm["amdgcn"], made.asm["hsaco"]
    assert isinstance(text, str)
    assert isinstance(data, bytes)
    shown, launched = _assembled(text, case.chip, folder), _kernel(data)
    assert shown.code == launched.code
    assert shown.descriptor == launched.descriptor
    assert shown.metadata == launched.metadata
    assert b".AMDGPU.disasm" not in data
    return text


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, id=case.name, marks=[pytest.mark.slow] if case.nightly or "256x256" in case.label else []
        )
        for case in CASES
    ],
)
def test_the_listing_is_of_the_launched_object(case: Case, tmp_path: Path) -> None:
    assert ".loc" not in _held(case, tmp_path)


#: kernels of which LLVM makes other code when it begins with a clone of the module
_ELSE = [case for case in CASES if case.label == "e4m3 64x64x128" or case.name.endswith("keys D64")]


@pytest.mark.parametrize("case", _ELSE, ids=lambda case: case.name)
def test_so_is_one_with_lines_of_the_source(case: Case, tmp_path: Path) -> None:
    with knobs.scope(LINE_INFO=True):
        assert "\t.loc\t" in _held(case, tmp_path)
