"""Dots by every WMMA of every processor: right in the simulator, and that instruction in the machine code."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tri
import tri.language as tl
from mfma_kernels import machine_code, run
from tri_backend_amd.architectures import target
from tri_backend_amd.wmma.forms import Form, forms
from tri_core.target import TargetKey

#: by the result's type: sums of 96 products at most, each step rounded once
BOUNDS = {"f32": 3e-6, "i32": 0.0}
#: one processor of each family, and RDNA4's other one
CHIPS = ("gfx1100", "gfx1200", "gfx1201", "gfx1250")
CASES = [pytest.param(c, f, id=f"{c}-{f.a}-{f.b}-{f.k}") for c in CHIPS for f in forms(c)]


@pytest.mark.parametrize(("chip", "form"), CASES)
def test_a_dot_by_each_instruction_is_right(chip: str, form: Form) -> None:
    error, ttgir = run(chip, (form.a, form.b), form.total, (19, 15, 47), (16, 16, max(32, form.k)))
    assert f"#ttg.amd_wmma<{{version = {form.version}" in ttgir
    assert error <= BOUNDS[form.total]


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_dots_of_any_shape_are_right(data: st.DataObject) -> None:
    chip = data.draw(st.sampled_from(CHIPS))
    form = data.draw(st.sampled_from(forms(chip)))
    powers = st.sampled_from([16, 32, 64])
    block = (data.draw(powers), data.draw(powers), data.draw(powers))
    shape = tuple(data.draw(st.integers(1, 2 * size)) for size in block)
    warps = data.draw(st.sampled_from([1, 2, 4]))
    error, _ = run(chip, (form.a, form.b), form.total, shape, block, warps=warps)
    assert error <= BOUNDS[form.total]


MNEMONICS = {
    ("gfx1100", "f16"): "v_wmma_f32_16x16x16_f16",
    ("gfx1100", "bf16"): "v_wmma_f32_16x16x16_bf16",
    ("gfx1100", "i8"): "v_wmma_i32_16x16x16_iu8",
    ("gfx1201", "f16"): "v_wmma_f32_16x16x16_f16",
    ("gfx1201", "bf16"): "v_wmma_f32_16x16x16_bf16",
    ("gfx1201", "i8"): "v_wmma_i32_16x16x16_iu8",
    ("gfx1201", "f8E5M2"): "v_wmma_f32_16x16x16_bf8_bf8",
    ("gfx1250", "f16"): "v_wmma_f32_16x16x32_f16",
    ("gfx1250", "bf16"): "v_wmma_f32_16x16x32_bf16",
    ("gfx1250", "i8"): "v_wmma_i32_16x16x64_iu8",
    ("gfx1250", "f8E5M2"): "v_wmma_f32_16x16x64_bf8_bf8",
}


@pytest.mark.parametrize(("chip", "kind"), MNEMONICS)
def test_machine_code_has_that_instruction(chip: str, kind: str) -> None:
    text = machine_code(chip, kind, (64, 64, 64))
    assert set(re.findall(r"v_wmma\w+", text)) == {MNEMONICS[chip, kind]}
    assert "scratch_" not in text.split(".section")[0]


@tri.jit
def batches(a_ptr, b_ptr, c_ptr, B: tl.constexpr, N: tl.constexpr):
    i, m, n = tl.arange(0, B)[:, None, None], tl.arange(0, N)[None, :, None], tl.arange(0, N)[None, None, :]
    at = (i * N + m) * N + n
    tl.store(c_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)))


@pytest.mark.parametrize("chip", CHIPS)
def test_batches_of_dots_are_right(chip: str) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, (4, 32, 32)).astype(np.float16) for _ in range(2))
    c = np.zeros((4, 32, 32), np.float32)
    with tri.target(f"sim:amd:{chip}"):
        kernel = batches[1,](a, b, c, B=4, N=32, num_warps=4)
    assert np.array_equal(c, a.astype(np.float64) @ b.astype(np.float64))
    assert "amd_wmma" in kernel.asm["ttgir"]


@tri.jit
def chain(q_ptr, k_ptr, v_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    weights = tl.dot(tl.load(q_ptr + at), tl.load(k_ptr + at)).to(tl.float16)
    tl.store(out_ptr + at, tl.dot(weights, tl.load(v_ptr + at)))


@pytest.mark.parametrize("chip", CHIPS)
def test_a_dot_of_a_dot_is_right(chip: str) -> None:
    rng = np.random.default_rng(2)
    q, k, v = (rng.integers(-1, 2, (64, 64)).astype(np.float16) for _ in range(3))
    out = np.zeros((64, 64), np.float32)
    with tri.target(f"sim:amd:{chip}"):
        chain[1,](q, k, v, out, N=64, num_warps=4)
    assert np.array_equal(out, (q.astype(np.float64) @ k.astype(np.float64)) @ v.astype(np.float64))


def test_rdna4_takes_a_result_as_it_is() -> None:
    """A lane holds 8 neighbours of a row of the transposed result, as the next dot's first operand has them."""
    types = dict.fromkeys(("q_ptr", "k_ptr", "v_ptr"), "*fp16") | {"out_ptr": "*fp32", "N": "constexpr"}
    facts = {(i,): [["tt.divisibility", 16], ["tt.pointer_range", 32]] for i in range(4)}
    source = tri.ASTSource(chain, types, {"N": 64}, facts)
    text = str(tri.compile(source, target="amd:gfx1201", options={"num_warps": 4}).asm["amdgcn"])
    assert not re.findall(r"bpermute|permlane|swizzle", text)


def test_targets_list_what_there_is() -> None:
    names = {d.name for d in target(TargetKey("amd", "gfx1201"), None).spec.dot}
    assert {"wmma.16x16x16.fp16", "wmma.16x16x16.fp8e4nv.fp8e5", "wmma.16x16x16.i8"} <= names
