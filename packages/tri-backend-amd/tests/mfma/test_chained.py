"""A dot whose first operand is another dot's result takes it from the registers that it is in."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tri
import tri.language as tl
from mfma_kernels import DTYPES


@tri.jit
def chain(q_ptr, k_ptr, v_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    rows, keys, columns = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + columns[None, :])
    k = tl.load(k_ptr + keys[None, :] * D + columns[:, None])
    v = tl.load(v_ptr + keys[:, None] * D + columns[None, :])
    weights = tl.dot(q, k).to(v.dtype)
    tl.store(out_ptr + rows[:, None] * D + columns[None, :], tl.dot(weights, v))


SIZES = {"M": 64, "N": 64, "D": 64}
CASES = [(chip, kind) for chip in ("gfx90a", "gfx942", "gfx950") for kind in ("f16", "bf16")]
CASES += [("gfx942", "f8E4M3FNUZ"), ("gfx950", "f8E4M3FN")]


@pytest.mark.parametrize(("chip", "kind"), CASES)
def test_results_are_right(chip: str, kind: str) -> None:
    rng = np.random.default_rng(3)
    q, k, v = (rng.integers(-1, 2, (64, 64)).astype(np.float32).astype(DTYPES[kind]) for _ in range(3))
    out = np.zeros((64, 64), np.float32)
    with tri.target(f"sim:amd:{chip}"):
        kernel = chain[1,](q, k, v, out, **SIZES, num_warps=2)
    left, middle, right = (each.astype(np.float64) for each in (q, k, v))
    weights = (left @ middle.T).astype(DTYPES[kind]).astype(np.float64)
    assert np.array_equal(out, weights @ right)
    widths = set(re.findall(r"opIdx = 0, parent = #mma\w*, kWidth = (\d+)", kernel.asm["ttgir"]))
    assert "4" in widths


@pytest.mark.parametrize(("chip", "kind"), [(chip, kind) for chip, kind in CASES if kind == "f16"])
def test_nothing_is_moved_between_lanes(chip: str, kind: str) -> None:
    types = dict.fromkeys(("q_ptr", "k_ptr", "v_ptr"), "*fp16") | {"out_ptr": "*fp32"}
    types |= dict.fromkeys(SIZES, "constexpr")
    facts = {(i,): [["tt.divisibility", 16], ["tt.pointer_range", 32]] for i in range(4)}
    source = tri.ASTSource(chain, types, SIZES, facts)
    text = str(tri.compile(source, target=f"amd:{chip}", options={"num_warps": 2}).asm["amdgcn"])
    assert not re.findall(r"bpermute|permlane|swizzle|v_cndmask", text)
