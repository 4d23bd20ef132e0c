"""Kernels whose loops load rows and page numbers beside their tiles are right in the simulators, however many iterations there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tri
from integration.kernels.serving import (
    block_scaled_matmul,
    chunk_scan,
    experts_matmul,
    int4_matmul,
    paged_decode,
    split_k_matmul,
)

TARGETS = ["amd:gfx942", "amd:gfx950", "amd:gfx1201", "nvidia:sm_80", "nvidia:sm_90a", "intel:pvc"]
Array = npt.NDArray[Any]
#: of results that are sums in f32, rounded to f16
_NEAR = 4e-3

pytestmark = [pytest.mark.parametrize("trips", [0, 1, 2, 5]), pytest.mark.parametrize("target", TARGETS)]


def launch(target: str, kernel: Any, *arguments: Any, grid: tuple[int, ...] = (1,), **constants: Any) -> None:
    with tri.target(f"sim:{target}"):
        kernel[grid](*arguments, num_warps=4, num_stages=3 if target.startswith("nvidia") else 2, **constants)


def test_scales_and_zero_points(target: str, trips: int) -> None:
    m, n, depth, group = 32, 32, 32, 32
    random, k = np.random.default_rng(trips), max(trips, 1) * depth
    a = random.integers(-2, 3, (m, k)).astype(np.float16)
    numbers = random.integers(0, 16, (k, n))
    shifted = numbers.reshape(k // 8, 8, n).astype(np.uint32) << (4 * np.arange(8, dtype=np.uint32))[:, None]
    packed = shifted.sum(1, dtype=np.uint32).view(np.int32)
    scale = random.choice([0.5, 1.0, 2.0], (k // group, n)).astype(np.float16)
    zero = random.integers(0, 16, (k // group, n)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float16)
    launch(target, int4_matmul, a, packed, scale, zero, c, trips * depth, k, n, n, n, GROUP=group, BLOCK_M=m, BLOCK_N=n, BLOCK_K=depth)  # fmt: skip
    b = (numbers - np.repeat(zero, group, 0)) * np.repeat(scale, group, 0)
    wanted = a[:, : trips * depth].astype(np.float64) @ b[: trips * depth]
    np.testing.assert_array_equal(c, wanted.astype(np.float16))


def test_page_numbers(target: str, trips: int) -> None:
    if not trips:
        pytest.skip("attention over no rows is no number")
    page, heads, width, block = 16, 16, 32, 32
    random, count = np.random.default_rng(trips), trips * block // page
    pages = random.permutation(count + 3)[:count].astype(np.int32)
    q = random.standard_normal((heads, width)).astype(np.float16)
    keys, values = (random.standard_normal((count + 3, page, width)).astype(np.float16) for _ in range(2))
    out = np.full((heads, width), np.nan, np.float16)
    launch(target, paged_decode, q, keys, values, pages, out, 0.25, trips * block, width, page * width, width, PAGE=page, HEADS=heads, WIDTH=width, BLOCK=block)  # fmt: skip
    k, v = (each[pages].reshape(-1, width).astype(np.float64) for each in (keys, values))
    weights = np.exp(q.astype(np.float64) @ k.T * 0.25)
    np.testing.assert_allclose(out, weights @ v / weights.sum(1, keepdims=True), rtol=_NEAR, atol=_NEAR)


def test_sums_of_decays(target: str, trips: int) -> None:
    m, n, depth = 32, 32, 32
    random, length = np.random.default_rng(trips), max(trips, 1) * depth
    states = random.standard_normal((m, length)).astype(np.float16)
    x = random.standard_normal((length, n)).astype(np.float16)
    steps = random.uniform(0, 0.2, length).astype(np.float32)
    sums = -np.cumsum(steps).astype(np.float32)
    out = np.full((m, n), np.nan, np.float16)
    launch(target, chunk_scan, states, x, steps, sums, out, trips * depth, length, n, BLOCK_M=m, BLOCK_N=n, BLOCK_K=depth)  # fmt: skip
    decay = np.exp(np.minimum(sums[:m, None].astype(np.float64) - sums, 0))
    wanted = (states * decay * steps)[:, : trips * depth] @ x[: trips * depth].astype(np.float64)
    np.testing.assert_allclose(out, wanted, rtol=_NEAR, atol=_NEAR)


def test_scales_behind_the_dot(target: str, trips: int) -> None:
    m, n, depth = 32, 32, 64
    random, k = np.random.default_rng(trips), max(trips, 1) * depth
    a, b = (random.integers(-2, 3, (size, k)).astype(np.int8) for size in (m, n))
    a_scale, b_scale = (
        random.choice([0.5, 1.0, 2.0], (size, k // depth)).astype(np.float32) for size in (m, 1)
    )
    c = np.full((m, n), np.nan, np.float32)
    launch(target, block_scaled_matmul, a, b, a_scale, b_scale, c, trips * depth, k, k, k // depth, n, BLOCK_M=m, BLOCK_N=n, BLOCK_K=depth)  # fmt: skip
    parts = np.einsum(
        "mtk,ntk->mnt", *(each.reshape(-1, k // depth, depth).astype(np.float64) for each in (a, b))
    )
    np.testing.assert_array_equal(c, (parts * a_scale[:, None] * b_scale)[..., :trips].sum(-1))


def test_rows_of_experts(target: str, trips: int) -> None:
    m, n, depth, columns, count, top = 16, 32, 32, 48, 11, 2
    random, k = np.random.default_rng(trips), max(trips, 1) * depth
    a = random.integers(-2, 3, (count, k)).astype(np.float16)
    b = random.integers(-2, 3, (3, k, columns)).astype(np.float16)
    # two blocks of rows, padded with a row that there is not
    experts, rows = np.array([2, 1], np.int32), np.full(2 * m, count * top, np.int32)
    own = random.permutation(count * top).astype(np.int32)
    rows[:13], rows[m : m + 9] = own[:13], own[13:]
    c = np.full((count * top, columns), np.nan, np.float16)
    launch(target, experts_matmul, a, b, c, rows, experts, count * top, columns, trips * depth, k, k * columns, columns, columns, grid=(2, 2), TOP=top, BLOCK_M=m, BLOCK_N=n, BLOCK_K=depth)  # fmt: skip
    for expert, block in zip(experts, (own[:13], own[13:]), strict=True):
        wanted = a[block // top, : trips * depth].astype(np.float64) @ b[expert, : trips * depth]
        np.testing.assert_array_equal(c[block], wanted.astype(np.float16))


def test_split_k(target: str, trips: int) -> None:
    m, n, depth, rows, columns, split = 32, 32, 32, 40, 48, 2
    random, k = np.random.default_rng(trips), max(trips, 1) * depth
    a = random.integers(-2, 3, (rows, k)).astype(np.float16)
    b = random.integers(-2, 3, (k, columns)).astype(np.float16)
    c = np.zeros((rows, columns), np.float32)
    launch(target, split_k_matmul, a, b, c, rows, columns, trips * depth, k, columns, columns, grid=(2, 2, split), SPLIT=split, BLOCK_M=m, BLOCK_N=n, BLOCK_K=depth)  # fmt: skip
    wanted = a[:, : trips * depth].astype(np.float64) @ b[: trips * depth]
    np.testing.assert_array_equal(c, wanted.astype(np.float32))
