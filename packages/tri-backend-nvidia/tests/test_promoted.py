"""A product of pointers, unchanged, with its tiles copied by warps of their own."""

from __future__ import annotations

import numpy as np
import pytest

import tri
from matrix_kernels import tiles
from tri import language as tl


def values(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float16)


@pytest.mark.parametrize("size", [(128, 128, 128), (136, 80, 160), (64, 64, 0)])
@pytest.mark.parametrize("columns", [False, True])
def test_tiles_of_pointers_go_to_a_producer(size: tuple[int, int, int], columns: bool) -> None:
    m, n, k = size
    a, b, c = values(m, k), values(k, n, seed=1), np.full((m, n), np.nan, np.float32)
    given = np.ascontiguousarray(b.T).T if columns else b
    strides = [s // 2 for x in (a, given) for s in x.strides]
    with tri.target("sim:nvidia:sm_90a"):
        kernel = tiles[(-(-m // 64), -(-n // 64))](
            a, given, c, m, n, k, *strides, 64, 64, 64, tl.float32, 3, num_warps=4, warp_specialize=True
        )
    if k:
        assert "ttg.warp_specialize(" in kernel.asm["ttgir"]
        assert kernel.asm["ttgir"].count("ttg.async_copy_descriptor_to_local") == 2
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(c - expected).max() <= 1e-5 * max(np.abs(expected).max(), 1)
