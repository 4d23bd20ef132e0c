"""Kernels of serving whose loops load rows beside their tiles: scales, page numbers, sums of decays.  Either compiler compiles them."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def int4_matmul(
    a_ptr, b_ptr, scale_ptr, zero_ptr, c_ptr, K, stride_a, stride_b, stride_scale, stride_c,
    GROUP: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """C = A (f16, M x K) B, B being 4-bit numbers, eight along k in an i32 (K / 8 x N), with an f16 scale and zero point for GROUP of k."""
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    shift = (k % 8) * 4
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + m[:, None] * stride_a + (start + k[None, :]))
        packed = tl.load(b_ptr + ((start + k[:, None]) // 8) * stride_b + n[None, :])
        scale = tl.load(scale_ptr + (start // GROUP) * stride_scale + n)
        zero = tl.load(zero_ptr + (start // GROUP) * stride_scale + n)
        number = ((packed >> shift[:, None]) & 15).to(tl.float16)
        acc = tl.dot(a, (number - zero[None, :]) * scale[None, :], acc)
    tl.store(c_ptr + m[:, None] * stride_c + n[None, :], acc.to(c_ptr.dtype.element_ty))


@tri.jit
def paged_decode(
    q_ptr, k_ptr, v_ptr, pages_ptr, out_ptr, scale, length, stride_q, stride_page, stride_row,
    PAGE: tl.constexpr, HEADS: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """HEADS queries of one key head attend to ``length`` rows, a multiple of BLOCK, in pages of PAGE that a table names."""
    heads, columns, rows = tl.arange(0, HEADS), tl.arange(0, WIDTH), tl.arange(0, BLOCK)
    places = tl.program_id(0) * HEADS * stride_q + heads[:, None] * stride_q + columns[None, :]
    q = tl.load(q_ptr + places)
    acc = tl.zeros([HEADS, WIDTH], dtype=tl.float32)
    total = tl.zeros([HEADS], dtype=tl.float32)
    largest = tl.zeros([HEADS], dtype=tl.float32) - float("inf")
    scale = scale * 1.4426950408889634
    for start in range(0, length, BLOCK):
        page = tl.load(pages_ptr + (start + rows) // PAGE)
        row = page * stride_page + ((start + rows) % PAGE) * stride_row
        k = tl.load(k_ptr + row[None, :] + columns[:, None])
        v = tl.load(v_ptr + row[:, None] + columns[None, :])
        scores = tl.dot(q, k)
        top = tl.maximum(largest, tl.max(scores, 1) * scale)
        weights = tl.math.exp2(scores * scale - top[:, None])
        shrink = tl.math.exp2(largest - top)
        total = total * shrink + tl.sum(weights, 1)
        acc = tl.dot(weights.to(v.dtype), v, acc * shrink[:, None])
        largest = top
    tl.store(out_ptr + places, (acc / total[:, None]).to(out_ptr.dtype.element_ty))


@tri.jit
def chunk_scan(
    states_ptr, x_ptr, dt_ptr, sums_ptr, out_ptr, length, stride_states, stride_x,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Within a chunk of Mamba-2: out = (C B^T weighed by exp(sums of m - sums of k) dt of k) x, ``states`` being C B^T (length x length)."""
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    own = tl.load(sums_ptr + m)
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, length, BLOCK_K):
        states = tl.load(states_ptr + m[:, None] * stride_states + (start + k[None, :])).to(tl.float32)
        sums = tl.load(sums_ptr + start + k)
        dt = tl.load(dt_ptr + start + k)
        states *= tl.exp(tl.minimum(own[:, None] - sums[None, :], 0.0)) * dt[None, :]
        x = tl.load(x_ptr + (start + k[:, None]) * stride_x + n[None, :])
        acc = tl.dot(states.to(x.dtype), x, acc)
    tl.store(out_ptr + m[:, None] * stride_x + n[None, :], acc.to(out_ptr.dtype.element_ty))


@tri.jit
def block_scaled_matmul(
    a_ptr, b_ptr, a_scale_ptr, b_scale_ptr, c_ptr, K, stride_a, stride_b, stride_scale, stride_c,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """C = A B^T of 8-bit rows; an f32 of A for each row and BLOCK_K of k, of B for BLOCK_N rows and as many of k, multiply what a step adds."""
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + m[:, None] * stride_a + (start + k[None, :]))
        b = tl.load(b_ptr + n[None, :] * stride_b + (start + k[:, None]))
        a_scale = tl.load(a_scale_ptr + m * stride_scale + start // BLOCK_K)
        b_scale = tl.load(b_scale_ptr + tl.program_id(1) * stride_scale + start // BLOCK_K)
        acc += tl.dot(a, b) * (a_scale * b_scale)[:, None]
    tl.store(c_ptr + m[:, None] * stride_c + n[None, :], acc.to(c_ptr.dtype.element_ty))


@tri.jit
def experts_matmul(
    a_ptr, b_ptr, c_ptr, rows_ptr, experts_ptr, count, N, K, stride_a, stride_expert, stride_b, stride_c,
    TOP: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """C[r] = A[r // TOP] B[expert of the block of r]: ``rows`` are sorted by expert and padded with ``count``, as mixture-of-experts layers do."""
    block = tl.program_id(0)
    row = tl.load(rows_ptr + block * BLOCK_M + tl.arange(0, BLOCK_M))
    expert = tl.load(experts_ptr + block).to(tl.int64)
    n = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    k = tl.arange(0, BLOCK_K)
    known = row < count
    a_ptrs = a_ptr + (row[:, None] // TOP) * stride_a + k[None, :]
    b_ptrs = b_ptr + expert * stride_expert + k[:, None] * stride_b + n[None, :]
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=known[:, None] & (k[None, :] < K - start), other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < K - start, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * stride_b
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    places = row[:, None] * stride_c + columns[None, :]
    tl.store(c_ptr + places, acc.to(c_ptr.dtype.element_ty), mask=known[:, None] & (columns[None, :] < N))


@tri.jit
def split_k_matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
    SPLIT: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """C += A B, f32, by atomic adds: program z of axis 2 takes each SPLIT-th block of k, from the z-th on."""
    m = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    n = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    k = tl.program_id(2) * BLOCK_K + tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + m[:, None] * stride_a + k[None, :]
    b_ptrs = b_ptr + k[:, None] * stride_b + n[None, :]
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(tl.cdiv(K, BLOCK_K * SPLIT)):
        left = K - start * BLOCK_K * SPLIT
        a = tl.load(a_ptrs, mask=k[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < left, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * SPLIT
        b_ptrs += BLOCK_K * SPLIT * stride_b
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    places = rows[:, None] * stride_c + columns[None, :]
    tl.atomic_add(c_ptr + places, acc, mask=(rows[:, None] < M) & (columns[None, :] < N))
