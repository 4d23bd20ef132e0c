"""Whole kernels, as people write them."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def vector_add(out, x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@tri.jit
def softmax(out, x, columns, B: tl.constexpr):
    i = tl.arange(0, B)
    start = tl.program_id(0) * columns
    row = tl.load(x + start + i, mask=i < columns, other=-float("inf")).to(tl.float32)
    e = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + start + i, e / tl.sum(e, axis=0), mask=i < columns)


@tri.jit
def layer_norm(out, x, weight, bias, columns, B: tl.constexpr):
    i = tl.arange(0, B)
    start = tl.program_id(0) * columns
    inside = i < columns
    row = tl.load(x + start + i, mask=inside, other=0).to(tl.float32)
    mean = tl.sum(row, axis=0) / columns
    centred = tl.where(inside, row - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + 1e-5)
    w, b = tl.load(weight + i, mask=inside, other=0), tl.load(bias + i, mask=inside, other=0)
    tl.store(out + start + i, centred * scale * w + b, mask=inside)


@tri.jit
def matmul(c, a, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0)
        right = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


@tri.jit
def attention(
    out, q, k, v, length, scale, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr
):
    """One head, with the softmax computed as the keys go by."""
    m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    query = tl.load(q + m[:, None] * D + d[None, :], mask=m[:, None] < length, other=0)
    top = tl.full([BM], -1e30, tl.float32)
    norm = tl.zeros([BM], tl.float32)
    total = tl.zeros([BM, D], tl.float32)
    for start in range(0, length, BN):
        n = start + tl.arange(0, BN)
        key = tl.load(k + n[None, :] * D + d[:, None], mask=n[None, :] < length, other=0)
        score = tl.dot(query, key, input_precision="ieee") * scale
        seen = n[None, :] < length
        if CAUSAL:
            seen = seen & (n[None, :] <= m[:, None])
        score = tl.where(seen, score, -1e30)
        higher = tl.maximum(top, tl.max(score, 1))
        weight = tl.where(seen, tl.exp(score - higher[:, None]), 0.0)
        shrink = tl.exp(top - higher)
        norm = norm * shrink + tl.sum(weight, 1)
        value = tl.load(v + n[:, None] * D + d[None, :], mask=n[:, None] < length, other=0)
        total = tl.dot(weight.to(value.dtype), value, total * shrink[:, None], input_precision="ieee")
        top = higher
    tl.store(out + m[:, None] * D + d[None, :], total / norm[:, None], mask=m[:, None] < length)


@tri.jit
def prefix(out, sums, x, n, B: tl.constexpr):
    """Prefix sums of each block, and the block's sum."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.store(out + i, tl.cumsum(value, 0), mask=i < n)
    tl.store(sums + tl.program_id(0), tl.sum(value, 0))


@tri.jit
def add_before(out, sums, n, BLOCKS: tl.constexpr, B: tl.constexpr):
    """Add to each block the sums of the blocks before it."""
    p = tl.program_id(0)
    blocks = tl.arange(0, BLOCKS)
    before = tl.sum(tl.load(sums + blocks, mask=blocks < p, other=0), 0)
    i = p * B + tl.arange(0, B)
    tl.store(out + i, tl.load(out + i, mask=i < n) + before, mask=i < n)


@tri.jit
def counts(bins, x, n, BINS: tl.constexpr, B: tl.constexpr):
    """A histogram over many programs."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(bins + value % BINS, 1, mask=i < n)


@tri.jit
def best(top, x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_max(top, tl.max(tl.load(x + i, mask=i < n, other=-1000000), 0))
