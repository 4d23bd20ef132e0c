"""Carried pointers become carried offsets: in the IR, in the code, and in what a GEMM computes."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tri
import tri.language as tl

SMALL = [["tt.divisibility", 16], ["tt.pointer_range", 32]]
BLOCK_M, BLOCK_N, BLOCK_K = 16, 32, 16


@tri.jit
def gemm(a, b, c, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """``c = a @ b`` by strides of any sign, masked on all sides; ``c`` is dense."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    pa = a + m[:, None] * am + k[None, :] * ak
    pb = b + k[:, None] * bk + n[None, :] * bn
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        inside = k + at < K
        x = tl.load(pa, mask=(m < M)[:, None] & inside[None, :], other=0)
        y = tl.load(pb, mask=inside[:, None] & (n < N)[None, :], other=0)
        acc += tl.dot(x, y)
        pa += BK * ak
        pb += BK * bk
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])


@functools.cache
def compiled(target: str, small: bool = True, stages: int = 2) -> Any:
    names = gemm.arg_names
    types = {n: "*fp16" if n in "ab" else "*fp32" if n == "c" else "i32" for n in names[:-3]}
    constants = {"BM": BLOCK_M, "BN": BLOCK_N, "BK": BLOCK_K, "ak": 1, "bn": 1}
    types |= dict.fromkeys(constants, "constexpr")
    facts = {(i,): SMALL for i in range(3)} if small else {}
    return tri.compile(
        tri.ASTSource(gemm, types, constants, facts),
        target=target,
        options={"num_warps": 1, "num_stages": stages},
    )


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx1100", "gfx1201", "gfx1250"])
def test_a_step_costs_no_vector_instruction(arch: str) -> None:
    text = compiled(f"amd:{arch}").asm["amdgcn"].split(".section")[0]
    loop = re.search(r"\n(\.L\w+):(.*?)s_cbranch\w+ \1\b", text, re.DOTALL)
    assert loop is not None
    loads = re.findall(r"buffer_load\w+ [^\n]*?\], (\S+) offen", loop[2])
    # one scalar register for each of the tensors
    assert len(set(loads)) == 2
    assert all(re.fullmatch(r"s\d+", register) for register in loads)
    assert "global_load" not in text.replace("s_load", "")


def test_the_loop_carries_offsets_of_small_arrays_only() -> None:
    def carried(small: bool) -> str:
        text = str(compiled("amd:gfx942", small, stages=1).asm["ttgir"])
        return text[text.index("scf.for") :].split("{\n")[0]

    assert "!tt.ptr" not in carried(True)
    assert "#mma>, i32, i32)" in carried(True)
    assert carried(False).count("!tt.ptr") == 2


def test_a_step_of_known_sign_needs_no_distance() -> None:
    text = str(compiled("amd:gfx942", stages=1).asm["ttgir"])
    loop = text[text.index("scf.for") :].split("scf.yield")[0]
    # that of `a` is a constant, that of `b` may lead back
    assert loop.count("amdg.uniform") == 2
    assert loop.count("arith.maxsi") == 1


@settings(max_examples=15, deadline=None)
@given(
    arch=st.sampled_from(["gfx90a", "gfx942", "gfx1100"]),
    m=st.integers(1, 30), n=st.integers(1, 40), k=st.integers(0, 50), flipped=st.booleans(),
)  # fmt: skip
def test_a_gemm_is_right(arch: str, m: int, n: int, k: int, flipped: bool) -> None:
    rng = np.random.default_rng(m * 10000 + n * 100 + k)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((m, k + 1), (k + 1, n)))
    a, b, c = a[:, :k], b[:k], np.zeros((m, n), np.float32)
    if flipped:  # the rows of `b` lead back
        b = b[::-1]
    strides = a.strides[0] // 2, b.strides[0] // 2
    kernel = compiled(f"sim:amd:{arch}")
    grid = (-(-m // BLOCK_M), -(-n // BLOCK_N), 1)
    kernel[grid](aligned(a), aligned(b), c, m, n, k, *strides)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def aligned(array: Any) -> Any:
    """``array`` with its strides, its first element at a multiple of 16 bytes."""
    if array.size == 0:
        return np.zeros(8, array.dtype)
    low = sum((n - 1) * min(s, 0) for n, s in zip(array.shape, array.strides, strict=True))
    high = sum((n - 1) * max(s, 0) for n, s in zip(array.shape, array.strides, strict=True))
    memory = np.zeros(high - low + 64, np.uint8)
    first = -low + (-(memory.ctypes.data - low)) % 16
    made = np.ndarray(array.shape, array.dtype, memory, first, array.strides)
    made[...] = array
    return made
