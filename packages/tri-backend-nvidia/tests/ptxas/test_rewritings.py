"""What a ptxas gets wrong is said otherwise, and nothing else."""

from __future__ import annotations

import pytest

import tri
import tri.language as tl
from tri_backend_nvidia.ptxas import FAULTS, Sound, identity, ptxas, rewritings, sound, version_of_ptxas
from tri_backend_nvidia.ptxas.rewritings import (
    ABSOLUTE_16,
    ABSOLUTE_32,
    ABSOLUTE_64,
    NEGATE_16,
    NEGATE_32,
    Rewriting,
)
from tri_core.api import ToolchainError

INTEGERS = {"negate-16", "negate-32", "absolute-16", "absolute-32", "absolute-64"}
FLOATS = {"sums-apart", "upper-halves", "upper-halves-of-dots"}
ALL = INTEGERS | FLOATS


def names(version: tuple[int, ...] | None, architecture: str = "sm_90a") -> set[str]:
    return {each.name for each in rewritings(version, architecture)}


def test_the_table() -> None:
    assert names((12, 9, 86)) == ALL - {"sums-apart"}
    assert names(None) == ALL
    assert names((12, 9, 86), "sm_80") == INTEGERS - {"negate-32"}
    assert names((12, 9, 86), "sm_89") == INTEGERS - {"negate-32"} | {"upper-halves"}
    assert names((12, 9, 86), "sm_103a") == ALL - {"sums-apart"}
    assert names((12, 9, 86), "sm_120a") == INTEGERS | {"upper-halves"}
    assert names((12, 0, 140)) == ALL - {"negate-32", "sums-apart"}
    assert names((13, 2, 78), "sm_80") == INTEGERS - {"negate-32"}
    assert names((13, 3, 73)) == ALL - {"sums-apart"}
    assert names((12, 4, 131)) == ALL - {"negate-32"}
    assert names((12, 5, 82)) == ALL - {"negate-32", "sums-apart"}
    assert names((13, 3, 73), "sm_80") == {"absolute-16", "absolute-32", "absolute-64"}
    assert names((13, 5, 37)) == names((13, 3, 73), "sm_80") | FLOATS - {"sums-apart"}


def test_ranges_are_in_order() -> None:
    assert all(fault.until is None or fault.since < fault.until for fault in FAULTS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("neg.s16 %rs1, %rs2;", "not.b16 %rs1, %rs2; add.s16 %rs1, %rs1, 1;"),
        ("@%p1 neg.s16 \t%rs1,%rs1;", "@%p1 not.b16 %rs1, %rs1; @%p1 add.s16 %rs1, %rs1, 1;"),
        ("{ neg.s16 x, y; }", "{ not.b16 x, y; add.s16 x, x, 1; }"),
        ("sub.s16 %rs1, 0, %rs2;", "not.b16 %rs1, %rs2; add.s16 %rs1, %rs1, 1;"),
        ("mul.lo.s16 %rs1, %rs2, -1;", "not.b16 %rs1, %rs2; add.s16 %rs1, %rs1, 1;"),
    ],
)
def test_negations(text: str, expected: str) -> None:
    assert NEGATE_16.apply(text) == expected


@pytest.mark.parametrize(
    "text",
    ["neg.s32 %r1, %r2;", "sub.s16 %rs1, %rs3, %rs2;", "mul.lo.s16 %rs1, %rs2, -10;", "neg.s64 %rd1, %rd2;", "neg.f16 %h1, %h2;"],
)  # fmt: skip
def test_other_instructions_stay(text: str) -> None:
    for step in (NEGATE_16, NEGATE_32, ABSOLUTE_16, ABSOLUTE_32, ABSOLUTE_64):
        assert step.apply(text) == text


def test_a_difference_from_a_register_that_is_zero() -> None:
    found = NEGATE_16.apply("mov.b16 %rs9, 0;\n@!%p2 sub.s16 %rs1, %rs9, %rs2;\nsub.s16 %rs3, %rs4, %rs9;")
    lines = found.splitlines()
    assert lines[1] == (
        "{ .reg .b16 %less; not.b16 %less, %rs2; add.s16 %less, %less, 1; @!%p2 add.s16 %rs1, %rs9, %less; }"
    )
    assert (lines[0], lines[2]) == ("mov.b16 %rs9, 0;", "sub.s16 %rs3, %rs4, %rs9;")


def test_negations_of_32_bits_stay_without_a_minimum() -> None:
    assert NEGATE_32.apply("neg.s32 %r1, %r2;\nmin.u32 %r1, %r1, %r2;").startswith("neg.s32")
    found = NEGATE_32.apply("neg.s32 %r1, %r2;\nmax.s32 %r1, %r1, %r2;")
    assert found.startswith("not.b32 %r1, %r2; add.s32 %r1, %r1, 1;\nmax")


def test_lines_stay_where_they_are() -> None:
    text = "min.s32 %r1, %r2, %r3;\n" + "\n".join(
        f"{op}.s{bits} %a, %b;" for op in ("neg", "abs") for bits in (16, 32, 64)
    )
    found, changed = Sound(None, rewritings(None, "sm_90a")).apply(text)
    assert set(changed) == INTEGERS
    assert found.count("\n") == text.count("\n")
    assert "neg.s64" in found


INSTRUCTIONS = [
    f"{op}.{sign}{bits} {operands};"
    for op, operands in (
        ("neg", "%a, %b"), ("abs", "%a, %b"), ("sub", "%a, 0, %b"), ("sub", "%a, %z, %b"), ("mul.lo", "%a, %b, -1"),
    )
    for sign in "su"
    for bits in (16, 32, 64)
] + [
    "cvt.rn.f16x2.e4m3x2 %r9, %h2;",
    "cvt.rn.f16x2.e5m2x2 %r9, %h2;",
    "cvt.rn.bf16x2.ue8m0x2 %r9, %h2;",
    "cvt.rn.f16x2.e2m3x2 %r9, %h2;",
    *(
        f"mma.sync.aligned.m16n8k32.row.col.f32.{left}.{right}.f32 {{%d0}}, {{%a}}, {{%b}}, {{%d0}};"
        for left in ("e4m3", "e5m2") for right in ("e4m3", "e5m2")
    ),
]  # fmt: skip


@pytest.mark.parametrize("step", rewritings(None, "sm_90a"), ids=lambda step: str(step.name))
@pytest.mark.parametrize("guard", ["", "@%p1 ", "{ "])
def test_texts_without_a_sign_are_not_changed(step: Rewriting, guard: str) -> None:
    zeros = "".join(f"mov.b{bits} %z, 0; " for bits in (16, 32, 64))
    texts = [f"{zeros}max.s32 %m, %m, %n;\n{guard}{each}" for each in INSTRUCTIONS]
    changed = [text for text in texts if step.apply(text) != text]
    assert changed
    assert set(changed) <= {text for text in texts if step.concerns(text)} != set(texts)


@tri.jit
def doubtful(x, h, out, N: tl.constexpr):
    i = tl.arange(0, N)
    rows = tl.load(x + i[:, None] * 4 + tl.arange(0, 4)[None, :])
    half = tl.load(h + i)
    tl.store(out + i, tl.min(-rows, 1) + tl.abs(rows.sum(1)) + (-half).to(tl.int32) + tl.abs(half))


def test_the_stage_rewrites_and_says_so() -> None:
    types = {"x": "*i32", "h": "*i16", "out": "*i32", "N": "constexpr"}
    made = tri.compile(tri.ASTSource(doubtful, types, {"N": 32}, {}), target="nvidia:sm_90a")
    assert "neg.s16" in made.asm["ptx"]
    expected = names(version_of_ptxas(ptxas())) & {"negate-16", "negate-32", "absolute-16", "absolute-32"}
    assert set(made.metadata.attrs.get("ptx_rewritings", ())) == expected


def test_version_and_rewritings_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    found = identity("sm_90a")["ptx rewritings"]
    version = version_of_ptxas(ptxas())
    assert version is not None
    assert found.startswith(".".join(map(str, version)))
    assert all(step.name in found for step in sound(ptxas(), "sm_90a").steps)
    monkeypatch.setenv("TRI_NVIDIA_PTXAS", "/nowhere/ptxas")
    assert identity("sm_90a") == {"ptxas": "none"}
    with pytest.raises(ToolchainError):
        ptxas("/nowhere/ptxas")
