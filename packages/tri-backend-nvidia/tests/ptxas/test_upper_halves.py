"""Words that may be constants are hidden from ptxas where it reads their upper halves; what comes from memory stays as it is."""

from __future__ import annotations

import pytest

import tri
import tri.language as tl
from tri_backend_nvidia.disassembly import NVDISASM, sass
from tri_backend_nvidia.ptxas import assemble, ptxas, sound
from tri_backend_nvidia.ptxas.upper_halves import SUMS_APART, UPPER_HALVES, UPPER_HALVES_OF_DOTS
from tri_backend_nvidia.tools import find
from tri_core import knobs

DOT = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%d0, %d1}, {%a, %b}, {%a}, {%d0, %d1};"
CONVERSION = "cvt.rn.f16x2.e4m3x2 %r9, %h2;"


def test_words_are_hidden_once() -> None:
    found = UPPER_HALVES_OF_DOTS.apply("mov.b32 %a, 5;\nld.shared.b32 %b, [%rd1];\n@%p1 " + DOT)
    assert found.splitlines()[2] == (
        "{ .reg .b32 %word<1>; prmt.b32 %word0, %a, %a, 0x7610; "
        "@%p1 mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%d0, %d1}, {%word0, %b}, {%word0}, {%d0, %d1}; }"
    )


@pytest.mark.parametrize(
    "loads",
    [
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%a, %b}, [%rd1];",
        "ld.global.v2.b32 {%a, %b}, [%rd1];",
        "ld.shared.b32 %c, [%rd1];\nshfl.sync.bfly.b32 %a, %c, 1, 31, -1;\nselp.b32 %b, %a, %c, %p1;",
        "ld.shared.v2.b32 {%c, %b}, [%rd1];\nmov.b32 %a, %c;\nmov.b32 %c, %b;\nprmt.b32 %b, %a, %c, 0x6420;",
    ],
)
def test_what_is_loaded_stays(loads: str) -> None:
    text = f"{loads}\n{DOT}"
    assert UPPER_HALVES_OF_DOTS.apply(text) == text


@pytest.mark.parametrize(
    "writes",
    [
        "mov.b32 %a, 7;\n@%p1 ld.global.b32 %a, [%rd1];",
        "ld.global.b32 %b, [%rd1];\nselp.b32 %a, %b, 7, %p1;",
        "ld.param.b32 %a, [retval0];",
        "ld.const.b32 %a, [table];",
        "ld.local.b32 %a, [%rd1];",
        "mov.b32 %a, {%h1, %h2};",
        "mov.b32 %c, 1;\nmov.b32 %a, %c;\nadd.s32 %c, %a, 1;",
        "",
    ],
)
def test_what_may_be_constant_is_hidden(writes: str) -> None:
    assert "prmt.b32 %word0, %a, %a, 0x7610;" in UPPER_HALVES_OF_DOTS.apply(f"{writes}\n{DOT}")


@pytest.mark.parametrize(
    "dot",
    [
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%d0}, {%a}, {%b}, {%d0};",
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e5m2.f32 {%d0}, {%a}, {%b}, {%d0};",
    ],
)
def test_other_dots_stay(dot: str) -> None:
    assert UPPER_HALVES_OF_DOTS.apply(dot) == dot == SUMS_APART.apply(dot)


def test_a_half_is_hidden() -> None:
    found = UPPER_HALVES.apply(f"mov.b32 {{%h1, %h2}}, %r1;\n@%p3 {CONVERSION}")
    assert found.splitlines()[1] == (
        "{ .reg .b32 %wide; .reg .b16 %half; mul.wide.u16 %wide, %h2, 1; cvt.u16.u32 %half, %wide; "
        "@%p3 cvt.rn.f16x2.e4m3x2 %r9, %half; }"
    )


@pytest.mark.parametrize(
    "writes",
    [
        "and.b16 %h2, %h1, 255;",
        "cvt.u16.u32 %h2, %r1;",
        "ld.shared.b32 %r1, [%rd1];\nmov.b32 {%h1, %h2}, %r1;",
    ],
)
def test_a_computed_half_stays(writes: str) -> None:
    assert UPPER_HALVES.apply(f"{writes}\n{CONVERSION}") == f"{writes}\n{CONVERSION}"


def test_a_result_of_its_own() -> None:
    assert SUMS_APART.apply("@%p1 " + DOT) == (
        "{ .reg .b32 %sum<2>; @%p1 mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%sum0, %sum1}, {%a, %b}, {%a}, "
        "{%d0, %d1}; @%p1 mov.b32 %d0, %sum0; @%p1 mov.b32 %d1, %sum1; }"
    )


@tri.jit
def dots(x, out, n, TYPE: tl.constexpr):
    i = tl.arange(0, 64)
    total = tl.zeros((64, 64), tl.float32)
    for _ in range(n):
        left = tl.load(x + i[:, None] * 64 + i[None, :]).to(TYPE, bitcast=True)
        # nothing is read: a constant that ptxas shuffles between lanes
        right = tl.load(x + i[:, None] + i[None, :] * 64, mask=i[:, None] < 0, other=59).to(
            TYPE, bitcast=True
        )
        total = tl.dot(left, right, total)
    tl.store(out + i[:, None] * 64 + i[None, :], total)


def compiled(type_: tl.dtype) -> tri.CompiledKernel:
    types = {"x": "*u8", "out": "*fp32", "n": "i32", "TYPE": "constexpr"}
    hints = {(place,): [["tt.divisibility", 16]] for place in range(2)}
    source = tri.ASTSource(dots, types, {"TYPE": type_}, hints)
    return tri.compile(source, target="nvidia:sm_90a", options={"num_warps": 1})


def constants_unpacked(listing: str) -> list[str]:
    """The conversions of packed floats in the machine code that read a constant, not a register."""
    read = [line for line in listing.splitlines() if "UNPACK_B" in line]
    assert read
    return [line for line in read if not line.split(",")[-1].strip().startswith(("R", "UR"))]


@pytest.mark.skipif(find(NVDISASM, knobs.get("NVIDIA_NVDISASM")) is None, reason="no nvdisasm")
@pytest.mark.parametrize("type_", [tl.float8e4nv, tl.float8e5], ids=str)
def test_a_constant_operand_of_a_kernel(type_: tl.dtype) -> None:
    made = compiled(type_)
    assert "mma.sync" in str(made.asm["ptx"])
    assert not constants_unpacked(str(made.asm["sass"]))
    assert "upper-halves-of-dots" in made.metadata.attrs["ptx_rewritings"]


@pytest.mark.skipif(find(NVDISASM, knobs.get("NVIDIA_NVDISASM")) is None, reason="no nvdisasm")
@pytest.mark.parametrize("type_", [tl.float8e4nv, tl.float8e5], ids=str)
def test_the_machine_code_shows_the_fault(type_: tl.dtype) -> None:
    """What the check of machine code above finds without the rewriting."""
    text = str(compiled(type_).asm["ptx"])
    listings = [
        str(sass(assemble(each, "sm_90a", program=ptxas()).cubin))
        for each in (text, UPPER_HALVES_OF_DOTS.apply(text))
    ]
    faulty = UPPER_HALVES_OF_DOTS in sound(ptxas(), "sm_90a").steps
    assert [bool(constants_unpacked(each)) for each in listings] == [faulty, False]
