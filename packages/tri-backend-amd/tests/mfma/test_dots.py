"""Dots by every MFMA of every processor: right in the simulator, and that instruction in the machine code."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfma_kernels import DTYPES, machine_code, run
from tri_backend_amd.mfma.encoding import AmdMfma
from tri_backend_amd.mfma.forms import VERSIONS, Form, forms
from tri_core.api import VerificationError
from tri_core.mlir import ir, session
from tri_core.plugins import manager
from tri_core.text import parse_module, print_module
from tri_gpu_dialect.encodings import decode

#: by the result's type: sums of 96 products at most, each step rounded once
BOUNDS = {"f32": 3e-6, "i32": 0.0, "f64": 1e-14}


def _depth(chip: str, form: Form) -> int:
    """A block's k that this form alone suits best: that of no deeper one."""
    deeper = [
        f.k
        for f in forms(chip)
        if (f.a, f.b, f.m, f.n, f.xf32) == (form.a, form.b, form.m, form.n, form.xf32)
    ]
    return form.k if any(k > form.k for k in deeper) else max(2 * form.k, 16)


CASES = [
    pytest.param(c, f, id=f"{c}-{f.a}-{f.b}-{f.m}x{f.n}x{f.k}{'-xf32' * f.xf32}")
    for c in VERSIONS
    for f in forms(c)
]


@pytest.mark.parametrize(("chip", "form"), CASES)
def test_a_dot_by_each_instruction_is_right(chip: str, form: Form) -> None:
    block = (form.m, form.n, _depth(chip, form))
    precision = "tf32" if form.xf32 else "ieee"
    ragged = (form.m + 3, form.n - 1, block[2] + block[2] // 2 - 1)
    error, ttgir = run(chip, (form.a, form.b), form.total, ragged, block, precision=precision)
    assert f"instrShape = [{form.m}, {form.n}, {form.k}]" in ttgir
    assert error <= (2e-3 if form.xf32 else BOUNDS[form.total])


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_dots_of_any_shape_are_right(data: st.DataObject) -> None:
    chip = data.draw(st.sampled_from(sorted(VERSIONS)))
    form = data.draw(st.sampled_from([f for f in forms(chip) if not f.xf32]))
    powers = st.sampled_from([16, 32, 64])
    block = (data.draw(powers), data.draw(powers), data.draw(powers))
    shape = tuple(data.draw(st.integers(1, 2 * size)) for size in block)
    warps = data.draw(st.sampled_from([1, 2, 4]))
    error, _ = run(chip, (form.a, form.b), form.total, shape, block, warps=warps)
    assert error <= BOUNDS[form.total]


#: what a wavefront's loop executes, as the processors' guides (and LLVM) spell it
MNEMONICS = {
    ("gfx908", "bf16"): "v_mfma_f32_32x32x4bf16",
    ("gfx90a", "bf16"): "v_mfma_f32_32x32x8bf16_1k",
    ("gfx90a", "i8"): "v_mfma_i32_32x32x8i8",
    ("gfx942", "f16"): "v_mfma_f32_32x32x8_f16",
    ("gfx942", "i8"): "v_mfma_i32_32x32x16_i8",
    ("gfx942", "f8E4M3FNUZ"): "v_mfma_f32_32x32x16_fp8_fp8",
    ("gfx950", "f16"): "v_mfma_f32_32x32x16_f16",
    ("gfx950", "bf16"): "v_mfma_f32_32x32x16_bf16",
    ("gfx950", "i8"): "v_mfma_i32_32x32x32_i8",
    ("gfx950", "f8E5M2"): "v_mfma_f32_32x32x64_f8f6f4",
}


@pytest.mark.parametrize(("chip", "kind"), MNEMONICS)
def test_machine_code_has_that_instruction(chip: str, kind: str) -> None:
    text = machine_code(chip, kind, (64, 64, 64))
    assert set(re.findall(r"v_mfma\w+", text)) == {MNEMONICS[chip, kind]}


@pytest.mark.parametrize(
    ("size", "shape"), [(0, "32x32x8"), (16, "16x16x16"), (32, "32x32x8"), (4, "32x32x8")]
)
def test_an_option_says_which_instruction(size: int, shape: str) -> None:
    """4 x 64 and 64 x 4 take a k of 64, which the dot does not have: another is taken then."""
    text = machine_code("gfx942", "f16", (64, 64, 16), matrix_instr_nonkdim=size)
    assert set(re.findall(r"v_mfma_f32_(\w+)_f16", text)) == {shape}


def test_an_option_says_how_much_a_lane_reads() -> None:
    widths = [
        re.findall(r"ds_read\w*_b(?:64|128)", machine_code("gfx942", "f16", (64, 64, 64), kpack=kpack))
        for kpack in (1, 2)
    ]
    assert "ds_read_b128" not in widths[0]
    assert "ds_read_b128" in widths[1]


def test_a_small_operand_is_handed_to_all_blocks() -> None:
    text = machine_code("gfx942", "f16", (4, 64, 64), num_warps=1)
    found = re.findall(r"v_mfma_f32_4x4x4_16b_f16 .*", text)
    assert {int(m[1]) if (m := re.search(r"abid:(\d+)", line)) else 0 for line in found} == set(range(16))
    assert all("cbsz:4" in line for line in found)


MODULE = """#mma = #ttg.amd_mfma<{{{fields}}}>
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32}} {{
  tt.func public @f(%a: tensor<128x64xf16, #ttg.dot_op<{{opIdx = 0, parent = #mma, kWidth = 4}}>>, %b: tensor<64x128xf16, #ttg.dot_op<{{opIdx = 1, parent = #mma, kWidth = 4}}>>, %c: tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma> {{
    %d = tt.dot %a, %b, %c : tensor<128x64xf16, #ttg.dot_op<{{opIdx = 0, parent = #mma, kWidth = 4}}>> * tensor<64x128xf16, #ttg.dot_op<{{opIdx = 1, parent = #mma, kWidth = 4}}>> -> tensor<128x128xf32, #mma>
    tt.return %d : tensor<128x128xf32, #mma>
  }}
}}
"""


@pytest.mark.parametrize(
    "fields",
    [
        "version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true",
        "version = 3, warpsPerCTA = [4, 1], instrShape = [4, 64, 64], isTransposed = false",
        "version = 2, warpsPerCTA = [2, 2], instrShape = [16, 16, 4], isTransposed = true, elementBitWidth = 64",
    ],
)
def test_text_is_as_triton_writes_it(fields: str) -> None:
    manager()
    text = MODULE.format(fields=fields)
    with session():
        printed = print_module(parse_module(text), locations=False)
        assert f"#mma = #ttg.amd_mfma<{{{fields}}}>" in printed
        assert print_module(parse_module(printed), locations=False) == printed


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": 5}, "version 5"),
        ({"instrShape": (8, 8, 4)}, "instrShape"),
        ({"instrShape": (32, 32)}, "instrShape"),
        ({"instrShape": (4, 64, 64)}, "64 x 4 alone is transposed"),
        ({"elementBitWidth": 16}, "elementBitWidth 16"),
        ({"elementBitWidth": 64}, "16, 16, 4"),
        ({"tilesPerWarp": (2, 1)}, "tilesPerWarp"),
    ],
)
def test_text_that_means_nothing_is_refused(changes: dict[str, Any], said: str) -> None:
    manager()
    fields = {"version": 3, "warpsPerCTA": (2, 2), "instrShape": (32, 32, 8), "isTransposed": True} | changes
    with session():
        attribute = AmdMfma().to_attr()
        made = type(attribute).get(ir.DictAttr.get({k: _attribute(v) for k, v in fields.items()}))
        with pytest.raises(VerificationError, match=said):
            decode(made)


def _attribute(value: Any) -> ir.Attribute:
    if isinstance(value, tuple):
        return ir.ArrayAttr.get([_attribute(each) for each in value])
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def test_every_type_of_the_tables_has_numbers() -> None:
    assert {kind for chip in VERSIONS for form in forms(chip) for kind in (form.a, form.b)} == set(DTYPES)
