"""Whole kernels in the simulator, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import tri

import kernels


@pytest.mark.parametrize("warps", [1, 4])
def test_softmax(warps: int) -> None:
    x = np.random.default_rng(1).standard_normal((7, 100), dtype=np.float32)
    out = np.full_like(x, np.nan)
    with tri.target("sim:toy:t1"):
        kernels.softmax[(7,)](out, x, 100, BLOCK=128, num_warps=warps)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("stages", [1, 3])
def test_matmuls(stages: int) -> None:
    random = np.random.default_rng(2)
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((32, 64), (64, 32)))
    out = np.full((32, 32), np.nan, np.float32)
    with tri.target("sim:toy:t1"):
        kernels.matmul[(1,)](out, a, b, 64, BLOCK=32, num_stages=stages)
    np.testing.assert_allclose(out, a.astype(np.float64) @ b.astype(np.float64), atol=1e-4)


def test_inline_assembly_is_refused_with_the_line_of_the_kernel() -> None:
    with tri.target("sim:toy:t1"), pytest.raises(tri.errors.Unsupported) as refused:
        kernels.assembly[(1,)](np.zeros(1, np.int32))
    assert refused.value.location is not None
    assert refused.value.remedy
