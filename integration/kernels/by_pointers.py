"""Kernels that either compiler compiles: what ``integration.kernels`` has with descriptors, by pointers; and what gathers."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def attention_by_pointers(
    q_ptr, k_ptr, v_ptr, out_ptr, scale, length, stride,
    WIDTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """One block of queries of one head; rows are ``stride`` elements apart; ``length`` is a multiple of the blocks."""
    head = tl.program_id(1) * length * stride
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, WIDTH)
    keys = tl.arange(0, BLOCK_N)
    q = tl.load(q_ptr + head + rows[:, None] * stride + columns[None, :])
    acc = tl.zeros([BLOCK_M, WIDTH], dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    largest = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    scale = scale * 1.4426950408889634
    for start in range(0, length, BLOCK_N):
        k = tl.load(k_ptr + head + (start + keys[None, :]) * stride + columns[:, None])
        scores = tl.dot(q, k)
        top = tl.maximum(largest, tl.max(scores, 1) * scale)
        weights = tl.math.exp2(scores * scale - top[:, None])
        shrink = tl.math.exp2(largest - top)
        total = total * shrink + tl.sum(weights, 1)
        acc = acc * shrink[:, None]
        v = tl.load(v_ptr + head + (start + keys[:, None]) * stride + columns[None, :])
        acc = tl.dot(weights.to(v.dtype), v, acc)
        largest = top
    out = (acc / total[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + head + rows[:, None] * stride + columns[None, :], out)


@tri.jit
def gradients_of_keys(
    q_ptr, k_ptr, v_ptr, grad_ptr, dk_ptr, dv_ptr, lse_ptr, delta_ptr, scale, length, stride,
    WIDTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Each program makes dk and dv of BLOCK_N keys of one head, going over the queries; sizes as in :func:`attention_by_pointers`."""
    base = tl.program_id(1) * length
    keys = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    columns, queries = tl.arange(0, WIDTH), tl.arange(0, BLOCK_M)
    places = base * stride + keys[:, None] * stride + columns[None, :]
    k, v = tl.load(k_ptr + places), tl.load(v_ptr + places)
    dk = tl.zeros([BLOCK_N, WIDTH], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N, WIDTH], dtype=tl.float32)
    for start in range(0, length, BLOCK_M):
        rows = start + queries
        those = base * stride + rows[:, None] * stride + columns[None, :]
        q, grad = tl.load(q_ptr + those), tl.load(grad_ptr + those)
        lse, delta = tl.load(lse_ptr + base + rows), tl.load(delta_ptr + base + rows)
        weights = tl.math.exp2(tl.dot(k, q.T) * (scale * 1.4426950408889634) - lse[None, :])
        dv = tl.dot(weights.to(grad.dtype), grad, dv)
        change = weights * (tl.dot(v, grad.T) - delta[None, :])
        dk = tl.dot(change.to(q.dtype), q, dk)
    tl.store(dk_ptr + places, (dk * scale).to(dk_ptr.dtype.element_ty))
    tl.store(dv_ptr + places, dv.to(dv_ptr.dtype.element_ty))


@tri.jit
def gradients_of_queries(
    q_ptr, k_ptr, v_ptr, grad_ptr, dq_ptr, lse_ptr, delta_ptr, scale, length, stride,
    WIDTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Each program makes dq of BLOCK_M queries of one head, going over the keys."""
    base = tl.program_id(1) * length
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns, keys = tl.arange(0, WIDTH), tl.arange(0, BLOCK_N)
    places = base * stride + rows[:, None] * stride + columns[None, :]
    q, grad = tl.load(q_ptr + places), tl.load(grad_ptr + places)
    lse, delta = tl.load(lse_ptr + base + rows), tl.load(delta_ptr + base + rows)
    dq = tl.zeros([BLOCK_M, WIDTH], dtype=tl.float32)
    for start in range(0, length, BLOCK_N):
        those = base * stride + (start + keys[:, None]) * stride + columns[None, :]
        k, v = tl.load(k_ptr + those), tl.load(v_ptr + those)
        weights = tl.math.exp2(tl.dot(q, k.T) * (scale * 1.4426950408889634) - lse[:, None])
        change = weights * (tl.dot(grad, v.T) - delta[:, None])
        dq = tl.dot(change.to(k.dtype), k, dq)
    tl.store(dq_ptr + places, (dq * scale).to(dq_ptr.dtype.element_ty))


@tri.jit
def elementwise(
    out_ptr, x_ptr, y_ptr, M, N, stride_out, stride_x, stride_y, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):  # fmt: skip
    """A block of ``x * y + x``, masked on both sides."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * stride_x + columns[None, :], mask=mask, other=0.0)
    y = tl.load(y_ptr + rows[:, None] * stride_y + columns[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + rows[:, None] * stride_out + columns[None, :], x * y + x, mask=mask)


@tri.jit
def paged_gather(
    out_ptr, cache_ptr, pages_ptr, length, stride, BLOCK: tl.constexpr, PAGE: tl.constexpr, WIDTH: tl.constexpr
):  # fmt: skip
    """Rows of a cache in pages of PAGE rows, found through a table."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, WIDTH)
    mask = rows < length
    page = tl.load(pages_ptr + rows // PAGE, mask=mask, other=0)
    places = (page * PAGE + rows % PAGE)[:, None] * stride + columns[None, :]
    values = tl.load(cache_ptr + places, mask=mask[:, None], other=0.0)
    tl.store(out_ptr + rows[:, None] * WIDTH + columns[None, :], values, mask=mask[:, None])


@tri.jit
def scaled_matmul(
    a_ptr, b_ptr, a_scale_ptr, b_scale_ptr, c_ptr, K, stride, stride_scale, stride_c,
    FORMAT: tl.constexpr, PACKED: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Rows of ``FORMAT``, ``PACKED`` numbers a byte, of A and of the transposed B, ``stride`` bytes apart; K is a multiple of BLOCK_K, 32 numbers have an e8m0."""
    rows, columns = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    m, n = rows + tl.arange(0, BLOCK_M), columns + tl.arange(0, BLOCK_N)
    bytes_, groups = tl.arange(0, BLOCK_K // PACKED), tl.arange(0, BLOCK_K // 32)
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + m[:, None] * stride + (k // PACKED + bytes_[None, :]))
        b = tl.load(b_ptr + n[None, :] * stride + (k // PACKED + bytes_[:, None]))
        a_scale = tl.load(a_scale_ptr + m[:, None] * stride_scale + (k // 32 + groups[None, :]))
        b_scale = tl.load(b_scale_ptr + n[:, None] * stride_scale + (k // 32 + groups[None, :]))
        acc = tl.dot_scaled(a, a_scale, FORMAT, b, b_scale, FORMAT, acc)
    tl.store(c_ptr + m[:, None] * stride_c + n[None, :], acc)
