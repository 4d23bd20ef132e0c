"""A dot of pointers, unchanged, with its tiles copied by warps of their own."""

from __future__ import annotations

import numpy as np
import pytest

import tri
from matrix_kernels import tiles
from schedule_kernels import by_pointers, everything
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
        assert kernel.asm["ttgir"].count("ttng.async_copy_descriptor_to_local") == 2
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(c - expected).max() <= 1e-5 * max(np.abs(expected).max(), 1)


@pytest.mark.parametrize("size", [(64, 0), (0, 0), (0, 64)])
def test_copies_of_empty_arrays_read_zeros_and_write_nothing(size: tuple[int, int]) -> None:
    """A program more than there are rows: its stores go where nobody reads."""
    m, k = size
    a, b, c = values(m, k), values(k, 64), np.full((64, 64), np.nan, np.float32)
    with tri.target("sim:nvidia:sm_90a"):
        kernel = everything[(2,)](a, b, c, m, 64, k, 64, 64, 64, num_warps=4, warp_specialize=True)
    assert kernel.asm["ttgir"].count("ttng.async_copy_descriptor_to_local") == 2
    assert kernel.asm["ttgir"].count("ttng.async_copy_local_to_descriptor") == 1
    assert [d["empty"] for d in kernel.metadata.attrs["descriptors"]].count("written") == 1
    np.testing.assert_array_equal(c[:m], 0)
    assert np.isnan(c[m:]).all()


def test_large_tiles_of_an_empty_sum_are_zeros() -> None:
    """As chosen by cost: warps that copy, persistent."""
    m, n, k = 136, 272, 0
    a, b, c = values(m, k), values(k, n), np.full((m, n), np.nan, np.float16)
    with tri.target("sim:nvidia:sm_90a"):
        kernel = by_pointers[(2, 2)](a, b, c, m, n, k, 128, 256, 64, num_warps=8)
    assert "ttg.warp_specialize(" in kernel.asm["ttgir"]
    np.testing.assert_array_equal(c, 0)


def test_an_empty_grid_describes_nothing() -> None:
    a = values(4, 4)
    with tri.target("sim:nvidia:sm_90a"):
        by_pointers[(0, 1)](a.reshape(-1)[1:], a, a, 0, 272, 64, 128, 256, 64, num_warps=8)
