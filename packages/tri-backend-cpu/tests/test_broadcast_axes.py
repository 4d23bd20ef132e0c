"""Blocks with dimensions of one element, loaded and stretched along either: every type, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tri
import tri.language as tl

TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint32", "float16", "float32", "float64"]


@tri.jit
def stretch(
    x_ptr,
    out_ptr,
    most_ptr,
    stride,
    limit,
    R: tl.constexpr,
    C: tl.constexpr,
    ROW: tl.constexpr,
    MASK: tl.constexpr,
):
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    at = c if ROW else r
    x = tl.load(x_ptr + at * stride, mask=at < limit, other=3) if MASK else tl.load(x_ptr + at * stride)
    whole = tl.broadcast_to(x, (R, C))
    tl.store(out_ptr + r * C + c, whole)
    tl.store(most_ptr + tl.arange(0, C), tl.max(whole, 0))


@pytest.mark.parametrize("masked", [False, True], ids=["plain", "masked"])
@pytest.mark.parametrize("row", [False, True], ids=["column", "row"])
@pytest.mark.parametrize(("rows", "columns"), [(4, 8), (1, 16), (16, 1), (32, 4), (2, 64)])
@pytest.mark.parametrize("dtype", TYPES)
def test_stretched(dtype: str, rows: int, columns: int, row: bool, masked: bool) -> None:
    stride, count = 3, columns if row else rows
    x = np.random.default_rng(0).integers(0, 100, stride * count).astype(dtype)
    limit = max(1, count - 1)
    out, most = np.zeros((rows, columns), dtype), np.zeros(columns, dtype)
    stretch[(1,)](x, out, most, stride, limit, R=rows, C=columns, ROW=row, MASK=masked)
    line = x[::stride].copy()
    if masked:
        line[limit:] = 3
    expected = np.broadcast_to(line if row else line[:, None], (rows, columns))
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(most, expected.max(axis=0))
