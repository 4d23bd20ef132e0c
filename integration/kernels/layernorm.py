"""Layer normalisation over the rows of a matrix, with weight and bias."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def layernorm(out_ptr, x_ptr, w_ptr, b_ptr, stride, n_cols, eps, BLOCK: tl.constexpr):
    """Each program normalises one row of n_cols elements, BLOCK at a time; stride is in elements."""
    row = tl.program_id(0)
    x_ptr += row * stride
    out_ptr += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + columns, mask=columns < n_cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n_cols
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n_cols
        centred = tl.load(x_ptr + columns, mask=mask, other=0.0).to(tl.float32) - mean
        centred = tl.where(mask, centred, 0.0)
        squares += centred * centred
    rstd = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / n_cols + eps)
    for start in range(0, n_cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n_cols
        x = tl.load(x_ptr + columns, mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(w_ptr + columns, mask=mask)
        bias = tl.load(b_ptr + columns, mask=mask)
        tl.store(out_ptr + columns, (x - mean) * rstd * weight + bias, mask=mask)
