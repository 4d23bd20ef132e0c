"""Loop-carried values may be read twice: reductions in loops with second uses of everything, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tri
import tri.language as tl

TARGETS = ["cpu", "sim:nvidia:sm_80", "sim:nvidia:sm_90a", "sim:amd:gfx942", "sim:intel:pvc"]
M, N, STEPS = 16, 32, 3
SECOND_USES = [
    "none", "sum", "carried", "new", "operand", "sum_carried", "last_of_loop", "yielded_twice", "other_reduction",
]  # fmt: skip


@tri.jit
def accumulate(x_ptr, out_ptr, other_ptr, steps, USE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    acc = tl.zeros((M,), tl.float32)
    other = tl.zeros((M,), tl.float32)
    for step in range(steps):
        v = tl.load(x_ptr + step * M * N + i[:, None] * N + j[None, :])
        s = tl.sum(v, 1)
        if USE == "carried":
            other += acc * 2
        acc += s
        if USE == "sum":
            other += s * 2
        if USE == "new":
            other += acc
        if USE == "operand":
            other += tl.max(v, 1)
        if USE == "sum_carried":
            other = other * 0.5 + s
        if USE == "last_of_loop":
            other = s
        if USE == "yielded_twice":
            other = acc
        if USE == "other_reduction":
            other += tl.sum(acc, 0)
    tl.store(out_ptr + i, acc)
    tl.store(other_ptr + i, other)


def expected(x: np.ndarray, use: str) -> tuple[np.ndarray, np.ndarray]:
    """Expected output of the kernel, in float64."""
    acc, other = np.zeros(M), np.zeros(M)
    for v in x.astype(np.float64):
        s = v.sum(axis=1)
        new = {
            "none": other, "sum": other + 2 * s, "carried": other + 2 * acc, "new": other + acc + s,
            "operand": other + v.max(axis=1), "sum_carried": other * 0.5 + s, "last_of_loop": s,
            "yielded_twice": acc + s, "other_reduction": other + (acc + s).sum(),
        }  # fmt: skip
        acc, other = acc + s, new[use]
    return acc, other


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("use", SECOND_USES)
def test_second_uses(use: str, target: str) -> None:
    x = np.random.default_rng(0).normal(size=(STEPS, M, N)).astype(np.float32)
    out, other = (np.full(M, np.nan, np.float32) for _ in range(2))
    with tri.target(target):
        accumulate[(1,)](x, out, other, STEPS, USE=use, M=M, N=N)
    for found, wanted in zip((out, other), expected(x, use), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)
