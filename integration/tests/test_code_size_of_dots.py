"""Dots by multiply-add are loops over chunks of k: their code does not grow with k, on any target without a matrix unit for them.

A dot whose operands don't fit into shared memory is cut along k: each part is a loop.
"""

from __future__ import annotations

from typing import Any

import pytest

import tri
import tri.language as tl

#: multiply-adds that one dot may be in code: a chunk of k (docs/design/ttgir.md, "Dots by multiply-add"), or one for each element of a thread
CHUNK = 512


@tri.jit
def dot(a: Any, b: Any, out: Any, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr) -> None:
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(out + m[:, None] * N + n[None, :], tl.dot(x, y, input_precision="ieee"))


@tri.jit
def scaled(a: Any, b: Any, scales: Any, out: Any, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr) -> None:
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + tl.arange(0, K // 2)[:, None] * N + n[None, :])
    y_scales = tl.load(scales + n[:, None] * (K // 32) + tl.arange(0, K // 32)[None, :])
    tl.store(out + m[:, None] * N + n[None, :], tl.dot_scaled(x, None, "fp16", y, y_scales, "e2m1"))


def multiply_adds(
    kernel: Any, types: dict[str, str], target: str, shape: tuple[int, int, int], warps: int
) -> tuple[int, int]:
    """Calls of fma in the LLVM IR, and the most that there may be."""
    sizes = dict(zip("MNK", shape, strict=True))
    source = tri.ASTSource(kernel, {**types, **dict.fromkeys(sizes, "constexpr")}, sizes, {})
    made = tri.compile(source, target=target, options={"num_warps": warps})
    calls = sum("call" in line and "@llvm.fma." in line for line in str(made.asm["llir"]).splitlines())
    cells = shape[0] * shape[1] // (warps * made.metadata.threads_per_warp)
    parts = max(str(made.asm["ttgir"]).count("ttg.local_dot "), 1)
    return calls, max(CHUNK, cells) * parts


FLOATS = {"a": "*fp32", "b": "*fp32", "out": "*fp32"}
HALVES = {"a": "*fp16", "b": "*fp16", "out": "*fp32"}
FOURS = {"a": "*fp16", "b": "*u8", "scales": "*u8", "out": "*fp32"}


@pytest.mark.parametrize("target", ["intel:opencl-cpu", "intel:mtl", "nvidia:sm_75", "amd:gfx1030"])
@pytest.mark.parametrize(
    ("shape", "warps"),
    [((64, 64, 32), 1), ((64, 64, 128), 4), ((128, 128, 32), 4), ((32, 32, 16), 4)],
    ids=str,
)
def test_code_of_a_dot_is_bounded(target: str, shape: tuple[int, int, int], warps: int) -> None:
    calls, most = multiply_adds(dot, FLOATS, target, shape, warps)
    assert 0 < calls <= most


@pytest.mark.parametrize("kernel", [dot, scaled], ids=["f16", "f16 by e2m1"])
@pytest.mark.parametrize("warps", [1, 4])
def test_code_does_not_grow_with_k(kernel: Any, warps: int) -> None:
    types = HALVES if kernel is dot else FOURS
    for k in (32, 64, 128):
        calls, _ = multiply_adds(kernel, types, "intel:opencl-cpu", (64, 64, k), warps)
        assert 0 < calls <= CHUNK
