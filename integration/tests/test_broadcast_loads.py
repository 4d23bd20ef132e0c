"""Loads whose pointers are the same along a dimension: what they read, what they leave alone, and which values they give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tri
import tri.language as tl

TARGETS = ["cpu", "sim:nvidia:sm_90a", "sim:amd:gfx942", "sim:intel:pvc"]
ROWS, COLUMNS = 8, 16
LEAST, LARGEST = -(1 << 31), (1 << 31) - 1


@tri.jit
def scaled(x, scales, out, rows, first, bound, ROWS: tl.constexpr, COLUMNS: tl.constexpr, KIND: tl.constexpr):
    m = tl.arange(0, ROWS)[:, None]
    n = tl.arange(0, COLUMNS)[None, :]
    if KIND == 0:
        inside = (m < rows) & (first + n < bound)
    elif KIND == 1:
        inside = (m < rows) & (bound <= first + n)
    elif KIND == 2:
        inside = (first + n <= bound) & (m < rows)
    else:
        inside = (m < rows) & (n + first > bound)
    scale = tl.load(scales + tl.broadcast_to(m, inside.shape), mask=inside, other=-1.0)
    at = m * COLUMNS + n
    tl.store(out + at, tl.load(x + at) * scale)


def expected(x, scales, rows, first, bound, kind):
    m, n = np.arange(ROWS)[:, None], np.arange(COLUMNS, dtype=np.int64)[None, :]
    place = (first + n + (1 << 31)) % (1 << 32) - (1 << 31)
    compared = [place < bound, bound <= place, place <= bound, place > bound][kind]
    padded = np.zeros(ROWS, np.float32)
    padded[: scales.size] = scales
    return x * np.where((m < rows) & compared, padded[:, None], np.float32(-1))


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(0, ROWS),
    first=st.integers(-20, 20) | st.integers(LARGEST - 20, LARGEST) | st.integers(LEAST, LEAST + 20),
    bound=st.integers(-20, 40) | st.sampled_from([LEAST, LEAST + 1, LARGEST - 3, LARGEST]),
    kind=st.integers(0, 3),
)
def test_nothing_is_read_where_nothing_is_inside(target, rows, first, bound, kind):
    """The array ends with the rows that anything is read of: a simulator finds any other access."""
    x = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    place = (first + np.arange(COLUMNS, dtype=np.int64) + (1 << 31)) % (1 << 32) - (1 << 31)
    anything = [place < bound, bound <= place, place <= bound, place > bound][kind].any()
    scales = np.arange(1, 1 + (rows if anything else 0), dtype=np.float32)
    out = np.zeros_like(x)
    with tri.target(target):
        scaled[(1,)](x, scales, out, rows, first, bound, ROWS=ROWS, COLUMNS=COLUMNS, KIND=kind)
    np.testing.assert_array_equal(out, expected(x, scales, rows, first, bound, kind))


def test_a_row_is_loaded_once():
    types = {
        **dict.fromkeys(("x", "scales", "out"), "*fp32"),
        **dict.fromkeys(("rows", "first", "bound"), "i32"),
        **dict.fromkeys(("ROWS", "COLUMNS", "KIND"), "constexpr"),
    }
    source = tri.ASTSource(scaled, types, {"ROWS": 128, "COLUMNS": 64, "KIND": 0})
    text = str(tri.compile(source, target="nvidia:sm_90a").asm["ttir"])
    assert "tt.load" in text
    assert "tensor<128x1x!tt.ptr<f32>>" in next(line for line in text.splitlines() if "tt.load" in line)
