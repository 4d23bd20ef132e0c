from __future__ import annotations

import llvmlite.binding as binding
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core import llvm_text
from tri_core.mlir import ir, session

_WIDTH = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
_LLVM = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double"}


def _stored_constants(type_: str, patterns: list[int]) -> str:
    stores = "\n".join(
        f"%c{i} = llvm.mlir.constant({p:#x} : {type_}) : {type_}\nllvm.store %c{i}, %p : {type_}, !llvm.ptr"
        for i, p in enumerate(patterns)
    )
    with session():
        module = ir.Module.parse(f"llvm.func @k(%p: !llvm.ptr) {{\n{stores}\nllvm.return }}")
        return llvm_text.to_llvm_text(module)


def _bits(literal: str, type_: str) -> int:
    if type_ in ("f16", "bf16"):
        return int(literal[3:], 16)
    wide = int(literal, 16)
    if type_ == "f64":
        return wide
    if (wide >> 52) & 0x7FF == 0x7FF:
        return (wide >> 63 << 31) | 0x7F800000 | ((wide >> 29) & 0x7FFFFF)
    return int(np.array([wide], np.uint64).view(np.float64).astype(np.float32).view(np.uint32)[0])


@pytest.mark.parametrize("type_", list(_WIDTH))
@given(data=st.data())
def test_every_bit_pattern_survives(type_: str, data: st.DataObject) -> None:
    patterns = data.draw(st.lists(st.integers(0, 2 ** _WIDTH[type_] - 1), min_size=1, max_size=20))
    text = _stored_constants(type_, patterns)
    binding.parse_assembly(text).verify()
    words = [line.split()[2].rstrip(",") for line in text.splitlines() if line.lstrip().startswith("store")]
    assert [_bits(w, type_) for w in words] == patterns


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("  %1 = fadd float %0, 1.000000e-01", "  %1 = fadd float %0, 0x3FB99999A0000000"),
        ("  %1 = fcmp olt half %0, +inf", "  %1 = fcmp olt half %0, 0xH7C00"),
        ("  %1 = fptrunc double 1.5 to float", "  %1 = fptrunc double 0x3FF8000000000000 to float"),
        (
            "  %1 = fadd <2 x bfloat> %0, splat (bfloat -inf)",
            "  %1 = fadd <2 x bfloat> %0, splat (bfloat 0xRFF80)",
        ),
        ('  call void asm "x 1.5 +inf", ""()', '  call void asm "x 1.5 +inf", ""()'),
        (
            "  %1 = phi float [ -1.5, %2 ], [ %v1.5, %a-inf ]",
            "  %1 = phi float [ 0xBFF8000000000000, %2 ], [ %v1.5, %a-inf ]",
        ),
        (
            "  %1 = call float @double.1.5(float 2.5)",
            "  %1 = call float @double.1.5(float 0x4004000000000000)",
        ),
    ],
)
def test_literals_take_the_type_before_them(line: str, expected: str) -> None:
    assert llvm_text.normalize_floats(line) == expected


def test_convergent_assembly_is_marked_and_no_other() -> None:
    """With braces, quotes and newlines in the text, constraints with parentheses around, several results."""
    with session():
        module = ir.Module.parse(
            """llvm.func @k(%a: i32, %p: !llvm.ptr<3>) {
            %0 = "llvm.inline_asm"(%a) {asm_string="meet $0, $1;", constraints="=r,r", has_side_effects, convergent} : (i32) -> i32
            %1 = "llvm.inline_asm"(%0) {asm_string="alone $0, $1;", constraints="=r,r", has_side_effects} : (i32) -> i32
            %2 = "llvm.inline_asm"(%1, %p) {asm_string="{ a\\\\b \\22 $0,\\0A $1, [$2]; }", constraints="=r,r,r", convergent} : (i32, !llvm.ptr<3>) -> i32
            llvm.return }"""
        )
        text = llvm_text.to_llvm_text(module)
    calls = [line for line in text.splitlines() if " asm " in line]
    assert [line.endswith(") convergent") for line in calls] == [True, False, True]
    parsed = binding.parse_assembly(text)
    parsed.verify()
    # LLVM keeps it, as a group of attributes
    assert any(line.startswith("attributes") and "convergent" in line for line in str(parsed).splitlines())
