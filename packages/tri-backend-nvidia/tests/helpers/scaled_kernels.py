"""Kernels of block-scaled dots: one dot, and a loop over k."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def _rows(x, R: tl.constexpr, C: tl.constexpr):
    return tl.load(x + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])


@tri.jit
def scaled_matmul(
    c, a, b, a_scale, b_scale,
    LEFT: tl.constexpr, RIGHT: tl.constexpr, ADDS: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, AK: tl.constexpr, BK: tl.constexpr, G: tl.constexpr, TRANSPOSED: tl.constexpr,
):  # fmt: skip
    """``c`` (+)= (a * a_scale) @ (b * b_scale), a scale of None being none; b is N x BK, or BK x N where it is not TRANSPOSED."""
    sx, sy = None, None
    if a_scale is not None:
        sx = _rows(a_scale, M, G)
    if b_scale is not None:
        sy = _rows(b_scale, N, G)
    x = _rows(a, M, AK)
    y = _rows(b, N, BK).T if TRANSPOSED else _rows(b, BK, N)
    total = tl.zeros([M, N], tl.float32)
    place = c + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    if ADDS:
        total = tl.load(place)
    made = tl.dot_scaled(x, sx, LEFT, y, sy, RIGHT, total)
    tl.store(place, made)


@tri.jit
def scaled_tiles(
    c, a, b, a_scale, b_scale, N, steps,
    LEFT: tl.constexpr, RIGHT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    AK: tl.constexpr, BK: tl.constexpr, G: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """A tile of ``c`` = (a * a_scale) @ (b * b_scale) with b of N x K, over ``steps`` blocks of K."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    a_at = a + row[:, None] * (steps * AK) + tl.arange(0, AK)[None, :]
    b_at = b + column[:, None] * (steps * BK) + tl.arange(0, BK)[None, :]
    sa_at = a_scale + row[:, None] * (steps * G) + tl.arange(0, G)[None, :]
    sb_at = b_scale + column[:, None] * (steps * G) + tl.arange(0, G)[None, :]
    total = tl.zeros([BM, BN], tl.float32)
    for _ in tl.range(0, steps, num_stages=STAGES):
        x, y = tl.load(a_at), tl.load(b_at)
        sx, sy = tl.load(sa_at), tl.load(sb_at)
        total = tl.dot_scaled(x, sx, LEFT, y.T, sy, RIGHT, total)
        a_at += AK
        b_at += BK
        sa_at += G
        sb_at += G
    tl.store(c + row[:, None] * N + column[None, :], total)
