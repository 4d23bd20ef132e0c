"""Operations are paired where that makes a kernel shorter, on processors that have pairs; the text of a large kernel says where."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from tri_backend_amd.hsaco.packing import generate
from tri_backend_amd.hsaco.pairs import TRIPS, saved_by_pairs
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
    assert sorted(service.asked) == [False, True]


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


def function(*lines: str) -> str:
    return "define void @f() {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def product(number: int, *, rounded: bool) -> list[str]:
    """A product that becomes an element of a vector, as it is or rounded to f16."""
    made = [f"%p{number} = fmul contract float %a{number}, %b{number}"]
    if not rounded:
        return [*made, f"%v{number} = insertelement <16 x float> %w, float %p{number}, i64 {number}"]
    half = f"%h{number} = fptrunc float %p{number} to half"
    return [*made, half, f"%v{number} = insertelement <2 x half> %w, half %h{number}, i64 {number}"]


PADDING = "; " * 60_000
WORTH = function(*product(0, rounded=False), *product(1, rounded=False)) + PADDING
NOT_WORTH = function(*product(0, rounded=True), *product(1, rounded=True)) + PADDING


@pytest.mark.parametrize(
    ("text", "spilt", "kept", "asked"),
    [
        (WORTH, 0, 7, [True]),
        (WORTH, 1, 9, [True, False]),
        (NOT_WORTH, 0, 9, [False]),
        (TEXT + PADDING, 0, 7, [True]),
    ],
)
def test_large_kernels_are_compiled_as_their_text_says_unless_that_spills(
    text: str, spilt: int, kept: int, asked: list[bool]
) -> None:
    service = Service(9, 7, spilt)
    assert instructions(service, text=text) == kept
    assert service.asked == asked


# --- what pairs save ----------------------------------------------------------------------------------------


def test_two_operations_become_one() -> None:
    chain = [
        "%d = fsub float %x, %y",
        "%p = fmul float %d, %z",
        "%v = insertelement <2 x float> %w, float %p, i64 0",
    ]
    assert saved_by_pairs(function(*chain)) == 1


def test_an_exponential_ends_a_tree() -> None:
    chain = [
        "%d = fsub float %x, %y",
        "%e = call float @llvm.amdgcn.exp2.f32(float %d)",
        "%v = insertelement <2 x float> %w, float %e, i64 0",
    ]
    assert saved_by_pairs(function(*chain)) == 0


def test_a_product_that_is_rounded_to_f16_alone_costs_a_conversion_and_half_of_a_pack() -> None:
    assert saved_by_pairs(function(*product(0, rounded=True))) == 0.5 - 1.5
    used = [*product(0, rounded=True), "%v = insertelement <2 x float> %w, float %p0, i64 0"]
    assert saved_by_pairs(function(*used)) == 0.5


def test_what_is_in_a_loop_counts_for_more() -> None:
    text = "define void @f() {\n  br label %1\n1:\n" + "\n".join(product(0, rounded=False))
    text += (
        "\n  br i1 %c, label %1, label %2\n2:\n" + "\n".join(product(1, rounded=False)) + "\n  ret void\n}\n"
    )
    assert saved_by_pairs(text) == 0.5 * TRIPS + 0.5


def test_functions_have_values_of_their_own() -> None:
    other = function("%p0 = fadd float %x, %y", "%e = call float @llvm.amdgcn.exp2.f32(float %p0)")
    assert saved_by_pairs(function(*product(0, rounded=False)) + other) == 0.5
