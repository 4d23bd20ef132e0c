"""Kernels whose blocks other warps copy, for the simulator and for a GPU."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def gemm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, COLUMNS: tl.constexpr, end):
    """``c = a b``, the first ``end`` of k, a tile per program; with ``COLUMNS``, ``b`` is stored by columns."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    if COLUMNS:
        db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    else:
        db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    om, on = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, end, BK):
        if COLUMNS:
            acc = tl.dot(da.load([om, k]), db.load([on, k]).T, acc)
        else:
            acc = tl.dot(da.load([om, k]), db.load([k, on]), acc)
    dc.store([om, on], acc.to(tl.float16))


@tri.jit
def persistent(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """``c = a b``; every program takes a tile after the other."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    columns = tl.cdiv(N, BN)
    for tile in tl.range(
        tl.program_id(0), tl.cdiv(M, BM) * columns, tl.num_programs(0), warp_specialize=True
    ):
        om, on = tile // columns * BM, tile % columns * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(da.load([om, k]), db.load([k, on]), acc)
        dc.store([om, on], acc.to(tl.float16))


@tri.jit
def attention(q, k, v, o, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    """Rows of ``softmax(q k^T) v``, a block per program: a loop without a mask, and one with it."""
    dq = tl.make_tensor_descriptor(q, [S, D], [D, 1], [BM, D])
    dk = tl.make_tensor_descriptor(k, [S, D], [D, 1], [BN, D])
    dv = tl.make_tensor_descriptor(v, [S, D], [D, 1], [BN, D])
    start = tl.program_id(0) * BM
    rows = start + tl.arange(0, BM)
    block = dq.load([start, 0])
    m = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    whole = start // BN * BN if CAUSAL else S // BN * BN
    for n in range(0, whole, BN):
        s = tl.dot(block, dk.load([n, 0]).T) * 1.44269504
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        alpha = tl.exp2(m - new)
        total = total * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), dv.load([n, 0]), acc * alpha[:, None])
        m = new
    end = start + BM if CAUSAL else S
    for n in range(whole, end, BN):
        s = tl.dot(block, dk.load([n, 0]).T) * 1.44269504
        columns = n + tl.arange(0, BN)
        visible = columns[None, :] < S
        if CAUSAL:
            visible = visible & (columns[None, :] <= rows[:, None])
        s = tl.where(visible, s, float("-inf"))
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        alpha = tl.exp2(m - new)
        total = total * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), dv.load([n, 0]), acc * alpha[:, None])
        m = new
    do = tl.make_tensor_descriptor(o, [S, D], [D, 1], [BM, D])
    do.store([start, 0], (acc / total[:, None]).to(tl.float16))


@tri.jit
def locked(a, b, c, lock, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A dot that an atomic comes before: nothing may be loaded ahead of it."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    tl.atomic_add(lock, 1)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(da.load([0, k]), db.load([k, 0]), acc)
    tl.store(c + tl.arange(0, BM)[:, None] * N + tl.arange(0, BN)[None, :], acc.to(tl.float16))


@tri.jit
def one_block(q, k, o, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """``exp2(q k^T) k``: both dots of an iteration read the same block."""
    dq = tl.make_tensor_descriptor(q, [BM, D], [D, 1], [BM, D])
    dk = tl.make_tensor_descriptor(k, [S, D], [D, 1], [BN, D])
    do = tl.make_tensor_descriptor(o, [BM, D], [D, 1], [BM, D])
    block = dq.load([0, 0])
    acc = tl.zeros((BM, D), tl.float32)
    for n in range(0, S, BN):
        keys = dk.load([n, 0])
        weights = tl.exp2(tl.dot(block, keys.T))
        acc = tl.dot(weights.to(tl.float16), keys, acc)
    do.store([0, 0], acc.to(tl.float16))


@tri.jit
def _finished(acc, bias, columns, N, scale, dtype: tl.constexpr):
    """``relu(scale * acc + bias)`` in a type."""
    row = tl.load(bias + columns, mask=columns < N, other=0.0)
    return tl.maximum(acc * scale + row[None, :], 0.0).to(dtype)


@tri.jit
def finished_tile(a, b, c, bias, M, N, K, scale, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """``relu(scale * a b^T + bias)``, a tile per program."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    om, on = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(da.load([om, k]), db.load([on, k]).T, acc, out_dtype=acc.dtype)
    dc.store([om, on], _finished(acc, bias, on + tl.arange(0, BN), N, scale, c.dtype.element_ty))


@tri.jit
def finished_tiles(a, b, c, bias, M, N, K, scale, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The same, every program takes a tile after the other."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    across = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * across, tl.num_programs(0)):
        om, on = tile // across * BM, tile % across * BN
        acc = tl.zeros((BM, BN), tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(da.load([om, k]), db.load([on, k]).T, acc, out_dtype=acc.dtype)
        dc.store([om, on], _finished(acc, bias, on + tl.arange(0, BN), N, scale, c.dtype.element_ty))
