"""The first launch of a kernel: accesses without a mask that leave an array are errors before anything runs."""

# mypy: allow-untyped-defs, allow-incomplete-defs, disable-error-code="operator,no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tri
import tri.language as tl
from tri_core.api import OutOfBounds


@tri.jit
def double(x, o, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, 2 * tl.load(x + i))


@tri.jit
def double_masked(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


@tri.jit
def plane(x, o, stride, first, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = first + tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    place = row[:, None] * stride + tl.arange(0, COLUMNS)[None, :]
    tl.store(o + tl.arange(0, ROWS), tl.sum(tl.load(x + place), axis=1))


@tri.jit
def in_a_branch(x, o, wanted):
    if wanted > 0:
        tl.store(o, tl.load(x + 1000))


@tri.jit
def opposed(x, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + (i - i)))
    tl.store(o + i, tl.load(x + (BLOCK - 1 - i) + i - (BLOCK - 1)))


def launch(kernel: Any, grid: tuple[int, ...], *args: Any, **options: Any) -> None:
    with tri.target("cpu"):
        kernel[grid](*args, **options)


def test_a_missing_mask_is_an_error_with_its_place() -> None:
    x, out = np.ones(100, np.float32), np.zeros(100, np.float32)
    with pytest.raises(OutOfBounds, match=r"load reaches element 100 of 'x', which has 100 \(fp32\)") as info:
        launch(double, (2,), x, out, BLOCK=64)
    error = info.value
    assert (error.parameter, error.offset, error.extent, error.program) == ("x", 400, 400, (1, 0, 0))
    assert error.location is not None
    assert "tl.load(x + i)" in (error.location.source_line or "")
    assert "mask=" in str(error)
    assert not out.any()


def test_it_is_one_again_until_it_is_mended_and_then_no_more() -> None:
    x, out = np.ones(100, np.float32), np.zeros(128, np.float32)
    for _ in range(2):
        with pytest.raises(OutOfBounds):
            launch(double, (2,), x, out, BLOCK=64)
    launch(double, (2,), np.ones(128, np.float32), out, BLOCK=64)
    assert (out == 2).all()


def test_the_array_that_is_stored_to() -> None:
    with pytest.raises(OutOfBounds, match="store reaches element 100 of 'o'"):
        launch(double, (2,), np.ones(128, np.float32), np.zeros(100, np.float32), BLOCK=64)


def test_masks_branches_and_offsets_that_exclude_each_other_are_no_reason() -> None:
    x, out = np.ones(100, np.float32), np.zeros(100, np.float32)
    launch(double_masked, (2,), x, out, 100, BLOCK=64)
    assert (out == 2).all()
    launch(in_a_branch, (1,), x, out, 0)
    launch(opposed, (1,), x[:1].copy(), out, BLOCK=64)


def test_views_may_be_left_within_their_memory() -> None:
    whole, out = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    launch(double, (2,), whole[:10], out, BLOCK=64)
    np.testing.assert_array_equal(out, 2 * whole)


@given(
    rows=st.sampled_from([1, 2, 4]),
    columns=st.sampled_from([1, 4, 8]),
    programs=st.integers(1, 3),
    stride=st.integers(-9, 9),
    first=st.integers(-3, 9),
    size=st.integers(1, 80),
)
def test_alarms_are_those_of_numpy(
    rows: int, columns: int, programs: int, stride: int, first: int, size: int
) -> None:
    row = first + np.arange(programs * rows)
    places = row[:, None] * stride + np.arange(columns)
    inside = places.min() >= 0 and places.max() < size
    kernel = tri.jit(plane.fn)  # a kernel of its own: each example is a first launch
    arguments = (np.ones(size, np.float32), np.zeros(rows, np.float32), stride, first)
    if inside:
        launch(kernel, (programs,), *arguments, ROWS=rows, COLUMNS=columns)
        return
    with pytest.raises(OutOfBounds) as info:
        launch(kernel, (programs,), *arguments, ROWS=rows, COLUMNS=columns)
    assert not 0 <= info.value.offset // 4 < size


class Address:
    """An address and a dtype, without an extent."""

    def __init__(self, array: Any) -> None:
        self.array, self.dtype = array, array.dtype

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)


def test_an_address_without_an_extent_is_not_looked_at() -> None:
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    launch(double, (1,), Address(x), Address(out), BLOCK=64)
    np.testing.assert_array_equal(out, 2)


@tri.jit
def doubled(x, o, n, TIMES: tl.constexpr):
    offset = n
    for _ in tl.static_range(TIMES):
        offset = offset + offset
    tl.store(o, tl.load(x + (offset - offset)))


@pytest.mark.parametrize("times", [3, 60])
def test_offsets_whose_parts_are_shared_are_not_read_again_and_again(times: int) -> None:
    x, out = np.ones(4, np.float32), np.zeros(4, np.float32)
    launch(doubled, (1,), x, out, 0, TIMES=times)
    assert out[0] == 1
