"""How often the tensor core's short sums of 8-bit floats are added to the accumulator: ``max_num_imprecise_acc``."""

from __future__ import annotations

import re

import pytest

tri = pytest.importorskip("tri")
tl = pytest.importorskip("tri.language")

M, N, K = 64, 32, 128
#: registers per thread that hold the accumulator
SUMS = M * N // 128


@tri.jit
def matmuls(a, b, c, steps, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, MOST: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for i in range(steps):
        x = tl.load(a + i * K + m[:, None] * K + k[None, :])
        y = tl.load(b + i * K + n[None, :] * K + k[:, None])
        acc = tl.dot(x, y, acc, max_num_imprecise_acc=MOST)
    tl.store(c + m[:, None] * N + n[None, :], acc)


def compiled(most: int | None, dtype: str = "fp8e4nv") -> str:
    types = {"a": f"*{dtype}", "b": f"*{dtype}", "c": "*fp32", "steps": "i32"}
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    source = tri.ASTSource(matmuls, types, {"M": M, "N": N, "K": K, "MOST": most}, aligned)
    options = {"num_warps": 4, "warp_specialize": False}
    text: str = tri.compile(source, target="nvidia:sm_90a", options=options).asm["ptx"]
    return text


@pytest.mark.parametrize(
    ("most", "parts"), [(None, 0), (K, 1), (K - 1, 2), (K // 2, 2), (32, 4), (1, 4), (0, 4)]
)
def test_short_sums_are_added_to_the_accumulator(most: int | None, parts: int) -> None:
    text = compiled(most)
    assert "wgmma.mma_async" in text
    assert len(re.findall(r"add(?:\.rn)?\.f32", text)) == parts * SUMS


def test_wider_floats_have_nothing_to_limit() -> None:
    assert len(re.findall(r"add(?:\.rn)?\.f32", compiled(1 << 30, "fp16"))) == 0


def test_more_than_all_matmuls_of_small_floats() -> None:
    with pytest.raises(tri.CompilationError, match=r"max_num_imprecise_acc \(129\) must be <= K"):
        compiled(K + 1)
