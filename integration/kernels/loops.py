"""Kernels whose loops give the optimizer something to do: dots, attention, sums over long rows."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def tiles(a, b, c, K, stride_am, stride_bk, stride_cm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A tile of a dot, without masks: the loop of a matmul and nothing else."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a + m[:, None] * stride_am + k[None, :]
    b_ptrs = b + k[:, None] * stride_bk + n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), acc)
        a_ptrs += BK
        b_ptrs += BK * stride_bk
    tl.store(c + m[:, None] * stride_cm + n[None, :], acc)


@tri.jit
def attention(q, k, v, o, n_keys, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Attention forward of one head, rows of ``D``, softmax computed as it goes."""
    m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    x = tl.load(q + m[:, None] * D + d[None, :])
    acc = tl.zeros((BM, D), tl.float32)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    for start in range(0, n_keys, BN):
        n = start + tl.arange(0, BN)
        y = tl.load(k + n[:, None] * D + d[None, :])
        s = tl.dot(x, tl.trans(y)) * scale
        higher = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - higher[:, None])
        alpha = tl.exp(top - higher)
        total = total * alpha + tl.sum(p, 1)
        z = tl.load(v + n[:, None] * D + d[None, :])
        acc = tl.dot(p.to(z.dtype), z, acc * alpha[:, None])
        top = higher
    tl.store(o + m[:, None] * D + d[None, :], acc / total[:, None])


@tri.jit
def row_sums(x, out, columns, M: tl.constexpr, N: tl.constexpr):
    """The sum of each of ``M`` rows, ``N`` columns at a time."""
    m, n = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N)
    total = tl.zeros((M,), tl.float32)
    for start in range(0, columns, N):
        total += tl.sum(tl.load(x + m[:, None] * columns + start + n[None, :]), 1)
    tl.store(out + m, total)


@tri.jit
def row_maxima(x, out, columns, M: tl.constexpr, N: tl.constexpr):
    """The largest of each of ``M`` rows, ``N`` columns at a time."""
    m, n = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N)
    top = tl.full((M,), -float("inf"), tl.float32)
    for start in range(0, columns, N):
        top = tl.maximum(top, tl.max(tl.load(x + m[:, None] * columns + start + n[None, :]), 1))
    tl.store(out + m, top)
