"""Loops of dots whose last iterations are masked, with operands that are made of what is loaded: each copy of the loop has buffers of its own."""

from __future__ import annotations

import numpy as np
import pytest

import tri
import tri.language as tl


@tri.jit
def clamped_matmul(x, y, out, steps, bound):
    rows, along, columns = tl.arange(0, 16), tl.arange(0, 32), tl.arange(0, 32)
    total = tl.zeros([16, 32], tl.float32)
    for i in range(steps):
        a = tl.load(x + rows[:, None] * 32 + along[None, :] + i * 512)
        place = i * 1024 + along[:, None] * 32 + columns[None, :]
        b = tl.load(y + place, mask=place < bound, other=1)
        a = tl.minimum(tl.maximum(a.to(tl.float32), -4.0), 4.0)
        b = tl.minimum(tl.maximum(b.to(tl.float32), -4.0), 4.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(out + rows[:, None] * 32 + columns[None, :], total)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950", "gfx1250"])
@pytest.mark.parametrize(("steps", "whole"), [(0, 0), (1, 1), (3, 2), (4, 0)])
def test_operands_that_are_computed(arch: str, steps: int, whole: int) -> None:
    rng = np.random.default_rng([steps, whole])
    x, y = (rng.integers(0, 9, (4, *shape)).astype(np.uint8) for shape in ((16, 32), (32, 32)))
    out = np.full((16, 32), np.nan, np.float32)
    bound = 1024 * whole + 40
    with tri.target(f"sim:amd:{arch}"):
        clamped_matmul[(1,)](x, y, out, steps, bound)
    read = np.where(np.arange(y.size).reshape(y.shape) < bound, y, 1)
    factors = ((np.minimum(v, 4).astype(np.float64) for v in pair) for pair in zip(x, read, strict=True))
    exact = sum((a @ b for a, b in list(factors)[:steps]), np.zeros((16, 32)))
    np.testing.assert_array_equal(out, exact)
