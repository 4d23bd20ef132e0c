"""Sums and running sums of narrow floats are computed in float32 and rounded once."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tri
import tri.language as tl


@tri.jit
def sums(x, running, product, total, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(running + i, tl.cumsum(v, 0))
    tl.store(product + i, tl.cumprod(v * 0 + 1.0078125, 0).to(v.dtype))
    tl.store(total, tl.sum(v, 0))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=["f16", "bf16"])
@pytest.mark.parametrize(
    "target", ["cpu", "interpreter", "sim:nvidia:sm_80", "sim:amd:gfx942", "sim:intel:pvc"]
)
def test_narrow_sums_are_rounded_once(target, dtype) -> None:
    x = np.random.default_rng(2).uniform(0, 1, 256).astype(dtype)
    running, product, total = np.zeros_like(x), np.zeros_like(x), np.zeros(1, dtype)
    with tri.interpret() if target == "interpreter" else tri.target(target):
        sums[(1,)](x, running, product, total, 256)
    exact = np.cumsum(x.astype(np.float64))
    half_ulp = np.abs(np.spacing(exact.astype(np.float32).astype(dtype)).astype(np.float64)) * 0.51
    assert (np.abs(running.astype(np.float64) - exact) <= half_ulp).all()
    assert abs(float(total[0]) - exact[-1]) <= half_ulp[-1]
    powers = np.asarray(1.0078125, dtype).astype(np.float64) ** np.arange(1, 257)
    np.testing.assert_allclose(
        product.astype(np.float64), powers, rtol=float(ml_dtypes.finfo(dtype).eps) * 0.51
    )
