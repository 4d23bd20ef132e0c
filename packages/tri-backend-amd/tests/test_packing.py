"""Operations are paired where that makes a kernel shorter, on processors that have pairs."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from tri_backend_amd.hsaco.packing import generate
from tri_core.api import CodegenReply, CodegenRequest

TEXT = "  %3 = fadd contract float %1, %2"


@dataclass
class Service:
    """Gives ``plain`` or ``paired`` instructions, and ``spilt`` registers for pairs."""

    plain: int
    paired: int
    spilt: int = 0
    asked: list[bool] = field(default_factory=list)

    def compile(self, request: CodegenRequest) -> CodegenReply:
        self.asked.append(request.slp_vectorize)
        count, spilt = (self.paired, self.spilt) if request.slp_vectorize else (self.plain, 0)
        text = "\tv_add_f32 v0, v0, v1\n" * count + f"    .vgpr_spill_count: {spilt}\n"
        return CodegenReply(texts={"asm": text})


def instructions(service: Service, cpu: str = "gfx942", text: str = TEXT) -> int:
    reply = generate(service, CodegenRequest(llvm_ir=text, triple="amdgcn", cpu=cpu))
    return reply.texts["asm"].count("v_add")


@pytest.mark.parametrize(
    ("service", "kept"), [(Service(9, 7), 7), (Service(7, 9), 7), (Service(9, 7, spilt=1), 9)]
)
def test_the_shorter_code_is_kept_unless_it_spills(service: Service, kept: int) -> None:
    assert instructions(service) == kept
    assert service.asked == [True, False]


LOOP = """
\tv_add_f32 v0, v0, v1
.LBB0_1:
{body}\ts_cbranch_scc1 .LBB0_1
{rest}    .vgpr_spill_count: 0
"""


def test_instructions_of_loops_count_for_more() -> None:
    add = "\tv_add_f32 v0, v0, v1\n"

    class Loops:
        def compile(self, request: CodegenRequest) -> CodegenReply:
            inside, behind = (3, 9) if request.slp_vectorize else (4, 2)
            return CodegenReply(texts={"asm": LOOP.format(body=add * inside, rest=add * behind)})

    request = CodegenRequest(llvm_ir=TEXT, triple="amdgcn", cpu="gfx942")
    assert generate(Loops(), request).texts["asm"].count("v_add") == 1 + 3 + 9  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cpu", "text"),
    [("gfx908", TEXT), ("gfx1100", TEXT), ("gfx942", "  %3 = add i32")],
)
def test_nothing_is_compiled_twice_in_vain(cpu: str, text: str) -> None:
    service = Service(9, 7)
    assert instructions(service, cpu, text) == 9
    assert service.asked == [False]


@pytest.mark.parametrize(("spilt", "kept", "asked"), [(0, 7, [True]), (1, 9, [True, False])])
def test_large_kernels_are_paired_unless_they_spill(spilt: int, kept: int, asked: list[bool]) -> None:
    service = Service(9, 7, spilt)
    assert instructions(service, text=TEXT * 9999) == kept
    assert service.asked == asked
