"""Atomics on 16-bit elements: at the ends of buffers, beside other elements, and outside."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tri
import tri.language as tl
from tri_core.errors import SimulationError

TARGETS = [
    "sim:nvidia:sm_75",
    "sim:nvidia:sm_80",
    "sim:nvidia:sm_90a",
    "sim:amd:gfx90a",
    "sim:amd:gfx942",
    "sim:amd:gfx1100",
    "sim:intel:pvc",
]
FLOATS = [np.float16, ml_dtypes.bfloat16]


@tri.jit
def add(p, first, n, BLOCK: tl.constexpr):
    i = first + tl.arange(0, BLOCK)
    tl.atomic_add(p + i, (i + 1).to(p.dtype.element_ty), mask=i < n)


@tri.jit
def add_all(p, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(p + i % 3, tl.full((BLOCK,), 1, p.dtype.element_ty))


@tri.jit
def swap(p, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    even = tl.where(i % 2 == 0, i, -1).to(tl.int16)
    tl.store(out + i, tl.atomic_cas(p + i, even, (i + 100).to(tl.int16)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [1, 2, 3, 17])
@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("target", TARGETS)
def test_a_sum_of_so_many_elements(target: str, start: int, size: int, dtype: Any) -> None:
    around = np.full(size + 4, 7, dtype)
    x = around[start : start + size]
    with tri.target(target):
        add[(1,)](x, 0, size, BLOCK=32)
    np.testing.assert_array_equal(x.astype(np.float32), 8 + np.arange(size))
    assert (around[:start] == 7).all()
    assert (around[start + size :] == 7).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("target", TARGETS)
def test_threads_that_share_words_and_elements(target: str, dtype: Any) -> None:
    x = np.zeros(3, dtype)
    with tri.target(target):
        add_all[(2,)](x, BLOCK=64)
    np.testing.assert_array_equal(x.astype(np.float32), [44, 42, 42])


@pytest.mark.parametrize("target", TARGETS)
def test_compare_and_swap_of_neighbours(target: str) -> None:
    x, out = np.arange(16, dtype=np.int16), np.zeros(16, np.int16)
    with tri.target(target):
        swap[(1,)](x, out, 16, BLOCK=16)
    i = np.arange(16)
    np.testing.assert_array_equal(out, i)
    np.testing.assert_array_equal(x, np.where(i % 2 == 0, i + 100, i))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("first", [1, -1])
@pytest.mark.parametrize("target", TARGETS)
def test_an_element_outside_is_an_error_also_in_the_word_of_one_inside(
    target: str, first: int, dtype: Any
) -> None:
    around = np.zeros(8, dtype)
    x = around[2:3] if first == 1 else around[3:4]  # the word has both, inside and outside
    with tri.target(target), pytest.raises(SimulationError, match=r"2 bytes at .* is outside") as caught:
        add[(1,)](x, first, first + 1, BLOCK=1)
    assert caught.value.check == "out-of-bounds"
