"""Kernels of the explicit level, which run on every vendor: layouts are arguments, made for a target's warps."""

from __future__ import annotations

from typing import Any

from tri.experimental import gluon
from tri.experimental.gluon import language as gl

__all__ = ["layer_norm", "row_layout", "softmax", "transpose", "vector_add"]


def row_layout(threads_per_warp: int, num_warps: int, per_thread: int = 1) -> Any:
    """The layout of one row that all threads share."""
    return gl.BlockedLayout([per_thread], [threads_per_warp], [num_warps], [0])


@gluon.jit
def vector_add(x, y, out, n, BLOCK: gl.constexpr, layout: gl.constexpr):  # type: ignore[no-untyped-def]
    """``out = x + y``."""
    offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    mask = offsets < n
    gl.store(out + offsets, gl.load(x + offsets, mask=mask) + gl.load(y + offsets, mask=mask), mask=mask)


@gluon.jit
def softmax(x, out, columns, BLOCK: gl.constexpr, layout: gl.constexpr):  # type: ignore[no-untyped-def]
    """The softmax of each row, one program a row."""
    row = gl.program_id(0) * columns
    offsets = gl.arange(0, BLOCK, layout=layout)
    mask = offsets < columns
    values = gl.load(x + row + offsets, mask=mask, other=-float("inf"))
    powers = gl.exp(values - gl.max(values, 0))
    gl.store(out + row + offsets, powers / gl.sum(powers, 0), mask=mask)


@gluon.jit
def layer_norm(
    x, weight, bias, out, rows, columns, eps, ROWS: gl.constexpr, COLUMNS: gl.constexpr, layout: gl.constexpr
):  # type: ignore[no-untyped-def]
    """Each row with its mean taken away and divided by its deviation, ROWS of them in a program."""
    row = gl.program_id(0) * ROWS + gl.arange(0, ROWS, layout=gl.SliceLayout(1, layout))
    column = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, layout))
    mask = (row < rows)[:, None] & (column < columns)[None, :]
    offsets = row[:, None] * columns + column[None, :]
    values = gl.load(x + offsets, mask=mask, other=0.0)
    mean = gl.sum(values, 1) / columns
    centred = gl.where(mask, values - mean[:, None], 0.0)
    scale = gl.rsqrt(gl.sum(centred * centred, 1) / columns + eps)
    inside = column < columns
    gain = gl.load(weight + column, mask=inside, other=0.0)
    shift = gl.load(bias + column, mask=inside, other=0.0)
    gl.store(out + offsets, centred * scale[:, None] * gain[None, :] + shift[None, :], mask=mask)


@gluon.jit
def transpose(x, out, SIZE: gl.constexpr, layout: gl.constexpr, shared: gl.constexpr):  # type: ignore[no-untyped-def]
    """A square block transposed through shared memory: read and written along rows."""
    row = gl.arange(0, SIZE, layout=gl.SliceLayout(1, layout))
    column = gl.arange(0, SIZE, layout=gl.SliceLayout(0, layout))
    offsets = row[:, None] * SIZE + column[None, :]
    buffer = gl.allocate_shared_memory(x.dtype.element_ty, [SIZE, SIZE], shared)
    buffer.store(gl.load(x + offsets))
    gl.store(out + offsets, buffer.permute([1, 0]).load(layout))
