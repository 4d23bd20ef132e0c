"""Convolution of images as one matmul whose operand is a matrix that is never made (implicit GEMM)."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def convolution(
    x_ptr, w_ptr, out_ptr, images, height, width, out_height, out_width,
    CHANNELS: tl.constexpr, FILTERS: tl.constexpr, TAPS_Y: tl.constexpr, TAPS_X: tl.constexpr,
    STRIDE: tl.constexpr, PADDING: tl.constexpr, DILATION: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """out [images, out_height, out_width, FILTERS] of x [images, height, width, CHANNELS], zeros around it, and w [TAPS_Y, TAPS_X, CHANNELS, FILTERS].

    A row of the dot is a pixel of out, a column a filter; the depth is taps times channels, BLOCK_K channels
    of one tap at a time.
    """
    tiles_n = tl.cdiv(FILTERS, BLOCK_N)
    pixels = (tl.program_id(0) // tiles_n) * BLOCK_M + tl.arange(0, BLOCK_M)
    filters = (tl.program_id(0) % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N)
    count = images * out_height * out_width
    image = pixels // (out_height * out_width)
    top = (pixels // out_width % out_height) * STRIDE - PADDING
    left = (pixels % out_width) * STRIDE - PADDING
    chunks: tl.constexpr = (CHANNELS + BLOCK_K - 1) // BLOCK_K
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(TAPS_Y * TAPS_X * chunks):
        tap = step // chunks
        y = top + tap // TAPS_X * DILATION
        x = left + tap % TAPS_X * DILATION
        channels = step % chunks * BLOCK_K + tl.arange(0, BLOCK_K)
        inside = (pixels < count) & (y >= 0) & (y < height) & (x >= 0) & (x < width)
        places = ((image * height + y) * width + x) * CHANNELS
        a = tl.load(
            x_ptr + places[:, None] + channels[None, :],
            mask=inside[:, None] & (channels[None, :] < CHANNELS),
            other=0.0,
        )
        b = tl.load(
            w_ptr + (tap * CHANNELS + channels[:, None]) * FILTERS + filters[None, :],
            mask=(channels[:, None] < CHANNELS) & (filters[None, :] < FILTERS),
            other=0.0,
        )
        acc = tl.dot(a, b, acc)
    tl.store(
        out_ptr + pixels[:, None] * FILTERS + filters[None, :],
        acc.to(out_ptr.dtype.element_ty),
        mask=(pixels[:, None] < count) & (filters[None, :] < FILTERS),
    )
