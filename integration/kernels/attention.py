"""Attention, forward and backward; q, k, v are [heads * length, width] through descriptors that the host makes."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def attend(
    acc, total, largest, q, k_desc, v_desc, base, low, high, rows, scale,
    BLOCK_N: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Goes on with keys ``low`` to ``high``; scale is in units of log2."""
    for start in range(low, high, BLOCK_N):
        start = tl.multiple_of(start, BLOCK_N)
        k = k_desc.load([base + start, 0])
        scores = tl.dot(q, k.T)
        if MASKED:
            keys = start + tl.arange(0, BLOCK_N)
            scores = tl.where(rows[:, None] >= keys[None, :], scores * scale, -1.0e6)
            top = tl.maximum(largest, tl.max(scores, 1))
            scores -= top[:, None]
        else:
            top = tl.maximum(largest, tl.max(scores, 1) * scale)
            scores = scores * scale - top[:, None]
        weights = tl.math.exp2(scores)
        shrink = tl.math.exp2(largest - top)
        total = total * shrink + tl.sum(weights, 1)
        acc = acc * shrink[:, None]
        v = v_desc.load([base + start, 0])
        acc = tl.dot(weights.to(v.dtype), v, acc)
        largest = top
    return acc, total, largest


@tri.jit
def attention(
    q_desc, k_desc, v_desc, out_desc, lse_ptr, scale, length,
    WIDTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """Each program attends from BLOCK_M queries of one head; lse gets log2 of the sums, per query."""
    tile, head = tl.program_id(0), tl.program_id(1)
    base = head * length
    rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    acc = tl.zeros([BLOCK_M, WIDTH], dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    largest = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    q = q_desc.load([base + tile * BLOCK_M, 0])
    scale = scale * 1.4426950408889634
    if CAUSAL:
        diagonal = tile * BLOCK_M // BLOCK_N * BLOCK_N
        acc, total, largest = attend(
            acc, total, largest, q, k_desc, v_desc, base, 0, diagonal, rows, scale, BLOCK_N, False
        )
        acc, total, largest = attend(
            acc,
            total,
            largest,
            q,
            k_desc,
            v_desc,
            base,
            diagonal,
            (tile + 1) * BLOCK_M,
            rows,
            scale,
            BLOCK_N,
            True,
        )
    else:
        acc, total, largest = attend(
            acc, total, largest, q, k_desc, v_desc, base, 0, length, rows, scale, BLOCK_N, False
        )
    tl.store(lse_ptr + base + rows, largest + tl.math.log2(total))
    out_desc.store([base + tile * BLOCK_M, 0], (acc / total[:, None]).to(out_desc.dtype))


@tri.jit
def products_of_outputs(out_ptr, grad_ptr, delta_ptr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """delta[i] = sum(out[i] * grad[i]), which the backward pass subtracts."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    places = rows[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    out = tl.load(out_ptr + places).to(tl.float32)
    grad = tl.load(grad_ptr + places).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(out * grad, 1))


@tri.jit
def gradients_of_keys(
    q_desc, k_desc, v_desc, grad_desc, dk_desc, dv_desc, lse_ptr, delta_ptr, scale, length,
    WIDTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """Each program makes dk and dv of BLOCK_N keys of one head, going over the queries."""
    tile, head = tl.program_id(0), tl.program_id(1)
    base = head * length
    keys = tile * BLOCK_N + tl.arange(0, BLOCK_N)
    k = k_desc.load([base + tile * BLOCK_N, 0])
    v = v_desc.load([base + tile * BLOCK_N, 0])
    dk = tl.zeros([BLOCK_N, WIDTH], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N, WIDTH], dtype=tl.float32)
    low = tile * BLOCK_N // BLOCK_M * BLOCK_M if CAUSAL else 0
    for start in range(low, length, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        q = q_desc.load([base + start, 0])
        grad = grad_desc.load([base + start, 0])
        lse = tl.load(lse_ptr + base + rows)
        delta = tl.load(delta_ptr + base + rows)
        weights = tl.math.exp2(tl.dot(k, q.T) * (scale * 1.4426950408889634) - lse[None, :])
        if CAUSAL:
            weights = tl.where(rows[None, :] >= keys[:, None], weights, 0.0)
        dv = tl.dot(weights.to(grad.dtype), grad, dv)
        change = weights * (tl.dot(v, grad.T) - delta[None, :])
        dk = tl.dot(change.to(q.dtype), q, dk)
    dk_desc.store([base + tile * BLOCK_N, 0], (dk * scale).to(dk_desc.dtype))
    dv_desc.store([base + tile * BLOCK_N, 0], dv.to(dv_desc.dtype))


@tri.jit
def gradients_of_queries(
    q_desc, k_desc, v_desc, grad_desc, dq_desc, lse_ptr, delta_ptr, scale, length,
    WIDTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """Each program makes dq of BLOCK_M queries of one head, going over the keys."""
    tile, head = tl.program_id(0), tl.program_id(1)
    base = head * length
    rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    q = q_desc.load([base + tile * BLOCK_M, 0])
    grad = grad_desc.load([base + tile * BLOCK_M, 0])
    lse = tl.load(lse_ptr + base + rows)
    delta = tl.load(delta_ptr + base + rows)
    dq = tl.zeros([BLOCK_M, WIDTH], dtype=tl.float32)
    high = (tile + 1) * BLOCK_M if CAUSAL else length
    for start in range(0, high, BLOCK_N):
        k = k_desc.load([base + start, 0])
        v = v_desc.load([base + start, 0])
        weights = tl.math.exp2(tl.dot(q, k.T) * (scale * 1.4426950408889634) - lse[:, None])
        if CAUSAL:
            keys = start + tl.arange(0, BLOCK_N)
            weights = tl.where(rows[:, None] >= keys[None, :], weights, 0.0)
        change = weights * (tl.dot(grad, v.T) - delta[:, None])
        dq = tl.dot(change.to(k.dtype), k, dq)
    dq_desc.store([base + tile * BLOCK_M, 0], (dq * scale).to(dq_desc.dtype))
