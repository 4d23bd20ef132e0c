"""Softmax over the rows of a matrix."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def softmax(out_ptr, x_ptr, x_stride, out_stride, n_cols, BLOCK: tl.constexpr):
    """Each program normalises one row of n_cols <= BLOCK elements; strides are in elements."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_stride + columns, mask=mask, other=-float("inf"))
    x = x - tl.max(x, axis=0)
    numerator = tl.exp(x)
    denominator = tl.sum(numerator, axis=0)
    tl.store(out_ptr + row * out_stride + columns, numerator / denominator, mask=mask)
