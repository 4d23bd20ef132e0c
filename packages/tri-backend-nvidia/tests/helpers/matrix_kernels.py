"""Kernels of dots, for the simulator and for a GPU."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def matmul(
    a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    A_COLUMNS: tl.constexpr, B_COLUMNS: tl.constexpr, OUT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One dot of whole matrices; operands may lie column by column."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a_offsets = m[:, None] + k[None, :] * M if A_COLUMNS else m[:, None] * K + k[None, :]
    b_offsets = k[:, None] + n[None, :] * K if B_COLUMNS else k[:, None] * N + n[None, :]
    x, y = tl.load(a + a_offsets), tl.load(b + b_offsets)
    z = tl.dot(x, y, out_dtype=OUT, input_precision=PRECISION)
    tl.store(c + m[:, None] * N + n[None, :], z)


@tri.jit
def tiles(
    a, b, c, M, N, K, sam, sak, sbk, sbn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, OUT: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """A tiled dot with masks along all dimensions; ``tf32`` for f32."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a + m[:, None] * sam + k[None, :] * sak
    b_ptrs = b + k[:, None] * sbk + n[None, :] * sbn
    acc = tl.zeros((BM, BN), OUT)
    for i in tl.range(0, tl.cdiv(K, BK), num_stages=STAGES):
        left = K - i * BK
        x = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] < left), other=0)
        y = tl.load(b_ptrs, mask=(k[:, None] < left) & (n[None, :] < N), other=0)
        acc = tl.dot(x, y, acc, input_precision="tf32", out_dtype=OUT)
        a_ptrs += BK * sak
        b_ptrs += BK * sbk
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


@tri.jit
def attention(
    q, k, v, o, N, scale,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Attention forward of one head, rows of ``D``, softmax computed as it goes."""
    first = tl.program_id(0) * BM
    m, d = first + tl.arange(0, BM), tl.arange(0, D)
    x = tl.load(q + m[:, None] * D + d[None, :], mask=m[:, None] < N, other=0.0)
    acc = tl.zeros((BM, D), tl.float32)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    end = tl.minimum(first + BM, N) if CAUSAL else N
    for start in tl.range(0, end, BN, num_stages=STAGES):
        n = start + tl.arange(0, BN)
        y = tl.load(k + n[:, None] * D + d[None, :], mask=n[:, None] < N, other=0.0)
        s = tl.dot(x, tl.trans(y)) * scale
        seen = n[None, :] < N
        if CAUSAL:
            seen = seen & (m[:, None] >= n[None, :])
        s = tl.where(seen, s, -float("inf"))
        higher = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - higher[:, None])
        alpha = tl.exp(top - higher)
        total = total * alpha + tl.sum(p, 1)
        z = tl.load(v + n[:, None] * D + d[None, :], mask=n[:, None] < N, other=0.0)
        acc = tl.dot(p.to(z.dtype), z, acc * alpha[:, None])
        top = higher
    tl.store(o + m[:, None] * D + d[None, :], acc / total[:, None], mask=m[:, None] < N)


@tri.jit
def attention_keys(
    q, k, v, do, dk, dv, lse, delta, N, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr
):
    """Attention backward, gradients of keys and values: four dots per step, results of dots transposed."""
    n, d = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, D)
    y = tl.load(k + n[:, None] * D + d[None, :])
    z = tl.load(v + n[:, None] * D + d[None, :])
    sum_k, sum_v = tl.zeros((BN, D), tl.float32), tl.zeros((BN, D), tl.float32)
    for start in range(0, N, BM):
        m = start + tl.arange(0, BM)
        x = tl.load(q + m[:, None] * D + d[None, :])
        g = tl.load(do + m[:, None] * D + d[None, :])
        p = tl.exp(tl.dot(x, tl.trans(y)) * scale - tl.load(lse + m)[:, None])
        sum_v = tl.dot(tl.trans(p.to(g.dtype)), g, sum_v)
        dp = tl.dot(g, tl.trans(z))
        ds = p * (dp - tl.load(delta + m)[:, None]) * scale
        sum_k = tl.dot(tl.trans(ds.to(x.dtype)), x, sum_k)
    tl.store(dk + n[:, None] * D + d[None, :], sum_k)
    tl.store(dv + n[:, None] * D + d[None, :], sum_v)


@tri.jit
def gathered(rows, table, w, c, K, N: tl.constexpr, M: tl.constexpr, BK: tl.constexpr):
    """Loads that feed loads: columns of ``table`` by an index, times ``w``, chunk by chunk."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((M, N), tl.float32)
    for i in range(tl.cdiv(K, BK)):
        at = tl.load(rows + i)
        x = tl.load(table + m[:, None] * K + at * BK + k[None, :])
        y = tl.load(w + (i * BK + k[:, None]) * N + n[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)


@tri.jit
def overwritten(a, b, c, STEPS: tl.constexpr, S: tl.constexpr):
    """Each step reads what the one before wrote: nothing may be loaded ahead."""
    m = tl.arange(0, S)
    square = m[:, None] * S + m[None, :]
    for i in range(STEPS):
        x = tl.load(a + i * S * S + square)
        y = tl.load(b + square)
        tl.store(a + (i + 1) * S * S + square, tl.dot(x, y).to(x.dtype))
    tl.store(c + square, tl.load(a + STEPS * S * S + square))


@tri.jit
def batches(a, b, c, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A dot of three dimensions."""
    i, m, n, k = tl.arange(0, B), tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + i[:, None, None] * M * K + m[None, :, None] * K + k[None, None, :])
    y = tl.load(b + i[:, None, None] * K * N + k[None, :, None] * N + n[None, None, :])
    tl.store(c + i[:, None, None] * M * N + m[None, :, None] * N + n[None, None, :], tl.dot(x, y))


@tri.jit
def carried(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, TWICE: tl.constexpr):
    """Operands that are carried to the next iteration, and used there once more if ``TWICE``."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((M, N), tl.float32)
    old = tl.zeros((M, BK), tl.float16)
    for i in range(tl.cdiv(K, BK)):
        x = tl.load(a + m[:, None] * K + i * BK + k[None, :])
        y = tl.load(b + (i * BK + k[:, None]) * N + n[None, :])
        acc = tl.dot(x, y, acc)
        if TWICE:
            if i % 2 == 1:
                acc += tl.dot(old, y)
        else:
            acc = tl.dot(old, y, acc)
        old = x
    tl.store(c + m[:, None] * N + n[None, :], acc)


@tri.jit
def imprecise(
    a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, MOST: tl.constexpr, ROWS: tl.constexpr = False,
):  # fmt: skip
    """One dot whose tensor core may add up ``MOST`` dots before they go into f32; columns of ``b`` are rows but for ``ROWS``."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + (k[:, None] * N + n[None, :] if ROWS else n[None, :] * K + k[:, None]))
    z = tl.dot(x, y, max_num_imprecise_acc=MOST)
    tl.store(c + m[:, None] * N + n[None, :], z)


@tri.jit
def finished(
    a, b, c, bias, M, N, K, sc, scale,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TRANSPOSED: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """``relu(scale * a @ b + bias)`` in the type of ``c``, stored under a mask; ``TRANSPOSED``: ``c`` lies column by column."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32)
    for i in tl.range(0, tl.cdiv(K, BK), num_stages=STAGES):
        rest = K - i * BK
        x = tl.load(
            a + m[:, None] * K + i * BK + k[None, :], mask=(m[:, None] < M) & (k[None, :] < rest), other=0
        )
        y = tl.load(
            b + n[None, :] * K + i * BK + k[:, None], mask=(k[:, None] < rest) & (n[None, :] < N), other=0
        )
        acc = tl.dot(x, y, acc, out_dtype=acc.dtype)
    z = acc * scale + tl.load(bias + n, mask=n < N, other=0)[None, :]
    z = tl.maximum(z, 0.0).to(c.dtype.element_ty)
    places = n[None, :] * sc + m[:, None] if TRANSPOSED else m[:, None] * sc + n[None, :]
    tl.store(c + places, z, mask=(m[:, None] < M) & (n[None, :] < N))
