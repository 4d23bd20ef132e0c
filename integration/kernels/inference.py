"""Kernels of models whose loops are not a plain matmul's: experts, narrow weights, causal attention in groups, chunks of states.  Either compiler compiles them."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def experts_matmul(
    a_ptr, b_ptr, c_ptr, rows_ptr, experts_ptr, weights_ptr, count, N, K, stride_a, stride_expert, stride_b, stride_c,
    TOP: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """C = rows of A by the expert of their block (K x N each), weighed: ``rows`` names TOP times a row of A and the expert's rank."""
    names = tl.load(rows_ptr + tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M))
    expert = tl.load(experts_ptr + tl.program_id(0)).to(tl.int64)
    n = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    k = tl.arange(0, BLOCK_K)
    used = names < count
    a_at = a_ptr + (names[:, None] // TOP) * stride_a + k[None, :]
    b_at = b_ptr + expert * stride_expert + k[:, None] * stride_b + n[None, :]
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(tl.cdiv(K, BLOCK_K)):
        left = K - start * BLOCK_K
        a = tl.load(a_at, mask=used[:, None] & (k[None, :] < left), other=0.0)
        b = tl.load(b_at, mask=k[:, None] < left, other=0.0)
        acc = tl.dot(a, b, acc)
        a_at += BLOCK_K
        b_at += BLOCK_K * stride_b
    acc *= tl.load(weights_ptr + names, mask=used, other=0.0)[:, None]
    out = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = used[:, None] & (out[None, :] < N)
    tl.store(c_ptr + names[:, None] * stride_c + out[None, :], acc.to(c_ptr.dtype.element_ty), mask=inside)


@tri.jit
def mxfp4_weights_matmul(
    a_ptr, b_ptr, scale_ptr, c_ptr, K, stride_a, stride_b, stride_scale, stride_c,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """C = A (bf16, M x K) B, B being e2m1, two along k in a byte (N x K / 2), with an e8m0 scale for 32 of k (N x K / 32)."""
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k, pairs, groups = tl.arange(0, BLOCK_K), tl.arange(0, BLOCK_K // 2), tl.arange(0, BLOCK_K // 32)
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + m[:, None] * stride_a + (start + k[None, :]))
        b = tl.load(b_ptr + n[None, :] * stride_b + (start // 2 + pairs[:, None]))
        scale = tl.load(scale_ptr + n[:, None] * stride_scale + (start // 32 + groups[None, :]))
        acc = tl.dot_scaled(a, None, "bf16", b, scale, "e2m1", acc)
    tl.store(c_ptr + m[:, None] * stride_c + n[None, :], acc.to(c_ptr.dtype.element_ty))


@tri.jit
def split_int8_matmul(
    a_ptr, b_ptr, scale_ptr, c_ptr, K, stride_a, stride_b, stride_c,
    SPLIT: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """C (f32) += A (f16) B, B being i8 with a scale a column; programs of axis 1 take every SPLIT-th block of k."""
    m = tl.arange(0, BLOCK_M)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)
    a_at = a_ptr + m[:, None] * stride_a + k[None, :]
    b_at = b_ptr + k[:, None] * stride_b + n[None, :]
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for _ in range(tl.cdiv(K, BLOCK_K * SPLIT)):
        a = tl.load(a_at)
        b = tl.load(b_at)
        acc = tl.dot(a, b.to(tl.float16), acc)
        a_at += BLOCK_K * SPLIT
        b_at += BLOCK_K * SPLIT * stride_b
    acc *= tl.load(scale_ptr + n)[None, :]
    tl.atomic_add(c_ptr + m[:, None] * stride_c + n[None, :], acc)


@tri.jit
def grouped_attention(
    q_ptr, k_ptr, v_ptr, out_ptr, scale, cap, length, stride_q, stride_k, stride_head,
    GROUP: tl.constexpr, CAPPED: tl.constexpr, WIDTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Causal attention of a head whose keys GROUP heads share; scores capped by cap * tanh(score / cap) where CAPPED."""
    head = tl.program_id(1)
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns, rows = tl.arange(0, WIDTH), tl.arange(0, BLOCK_N)
    k_at, v_at = k_ptr + head // GROUP * stride_head, v_ptr + head // GROUP * stride_head
    places = head * stride_head + m[:, None] * stride_q + columns[None, :]
    q = tl.load(q_ptr + places, mask=m[:, None] < length, other=0.0)
    acc = tl.zeros([BLOCK_M, WIDTH], dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    largest = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    for start in range(0, tl.minimum((tl.program_id(0) + 1) * BLOCK_M, length), BLOCK_N):
        n = start + rows
        k = tl.load(k_at + n[None, :] * stride_k + columns[:, None], mask=n[None, :] < length, other=0.0)
        scores = tl.dot(q, k) * scale
        if CAPPED:
            grown = tl.math.exp2(scores * (2.885390081777927 / cap))
            scores = cap * (1.0 - 2.0 / (grown + 1.0))
        scores = tl.where(
            (m[:, None] >= n[None, :]) & (n[None, :] < length), scores * 1.4426950408889634, float("-inf")
        )
        top = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.math.exp2(scores - top[:, None])
        shrink = tl.math.exp2(largest - top)
        total = total * shrink + tl.sum(weights, 1)
        v = tl.load(v_at + n[:, None] * stride_k + columns[None, :], mask=n[:, None] < length, other=0.0)
        acc = tl.dot(weights.to(v.dtype), v, acc * shrink[:, None])
        largest = top
    tl.store(out_ptr + places, (acc / total[:, None]).to(out_ptr.dtype.element_ty), mask=m[:, None] < length)


@tri.jit
def causal_gradients(
    q_ptr, k_ptr, v_ptr, grad_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, scale, length, stride,
    WIDTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Gradients of a block of keys and values of causal attention, over the queries behind it."""
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    columns = tl.arange(0, WIDTH)
    k = tl.load(k_ptr + n[:, None] * stride + columns[None, :])
    v = tl.load(v_ptr + n[:, None] * stride + columns[None, :])
    dk = tl.zeros([BLOCK_N, WIDTH], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N, WIDTH], dtype=tl.float32)
    for start in range(tl.program_id(0) * BLOCK_N, length, BLOCK_M):
        m = start + tl.arange(0, BLOCK_M)
        inside = m < length
        q = tl.load(q_ptr + m[:, None] * stride + columns[None, :], mask=inside[:, None], other=0.0)
        grad = tl.load(grad_ptr + m[:, None] * stride + columns[None, :], mask=inside[:, None], other=0.0)
        lse = tl.load(lse_ptr + m, mask=inside, other=0.0)
        delta = tl.load(delta_ptr + m, mask=inside, other=0.0)
        weights = tl.math.exp2(tl.dot(k, tl.trans(q)) * scale - lse[None, :])
        weights = tl.where(m[None, :] >= n[:, None], weights, 0.0)
        dv = tl.dot(weights.to(grad.dtype), grad, dv)
        slopes = weights * (tl.dot(v, tl.trans(grad)) - delta[None, :])
        dk = tl.dot(slopes.to(q.dtype), q, dk)
    tl.store(dv_ptr + n[:, None] * stride + columns[None, :], dv.to(dv_ptr.dtype.element_ty))
    tl.store(dk_ptr + n[:, None] * stride + columns[None, :], (dk * scale).to(dk_ptr.dtype.element_ty))


@tri.jit
def chunk_states(
    x_ptr, b_ptr, dt_ptr, sums_ptr, out_ptr, length, stride_x, stride_b, stride_out,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """The state that a chunk of Mamba-2 adds: x^T (dt exp(last sum - sum) B), over the chunk's rows."""
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    last = tl.load(sums_ptr + length - 1)
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, length, BLOCK_K):
        inside = start + k < length
        x = tl.load(x_ptr + m[:, None] + (start + k[None, :]) * stride_x, mask=inside[None, :], other=0.0)
        b = tl.load(b_ptr + (start + k[:, None]) * stride_b + n[None, :], mask=inside[:, None], other=0.0)
        sums = tl.load(sums_ptr + start + k, mask=inside, other=0.0)
        dt = tl.load(dt_ptr + start + k, mask=inside, other=0.0)
        b = b.to(tl.float32) * (tl.exp(last - sums) * dt)[:, None]
        acc = tl.dot(x, b.to(x.dtype), acc)
    tl.store(out_ptr + m[:, None] * stride_out + n[None, :], acc.to(out_ptr.dtype.element_ty))


@tri.jit
def linear_attention(
    q_ptr, k_ptr, v_ptr, decay_ptr, out_ptr, length, stride,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Attention by a state that decays, a chunk of BLOCK rows at a time: out = q state + (q k^T, causal) v; state += k^T v."""
    columns, rows = tl.arange(0, WIDTH), tl.arange(0, BLOCK)
    state = tl.zeros([WIDTH, WIDTH], dtype=tl.float32)
    for start in range(0, length, BLOCK):
        at = (start + rows[:, None]) * stride + columns[None, :]
        q, k, v = tl.load(q_ptr + at), tl.load(k_ptr + at), tl.load(v_ptr + at)
        decay = tl.load(decay_ptr + start // BLOCK)
        scores = tl.where(rows[:, None] >= rows[None, :], tl.dot(q, tl.trans(k)), 0.0)
        out = tl.dot(scores.to(v.dtype), v) + tl.dot(q, state.to(q.dtype))
        state = tl.dot(tl.trans(k), v, state * decay)
        tl.store(out_ptr + at, out.to(out_ptr.dtype.element_ty))
