"""Dots that are nearly like those whose schedules are chosen."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def counted(a, b, c, count, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """``c = a b``; programs are counted."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    om, on = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(da.load([om, k]), db.load([k, on]), acc)
    tl.atomic_add(count, 1)
    dc.store([om, on], acc.to(tl.float16))


@tri.jit
def shown(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """``c = a b``; K is printed."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    om, on = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(da.load([om, k]), db.load([k, on]), acc)
    tl.device_print("k", K)
    dc.store([om, on], acc.to(tl.float16))


@tri.jit
def dequantized(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """``c = a b`` of bytes a, which are converted before they are multiplied."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    om, on = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(da.load([om, k]).to(tl.float16), db.load([k, on]), acc)
    dc.store([om, on], acc.to(tl.float16))


@tri.jit
def by_pointers(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """``c = a b`` without a descriptor."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for first in range(0, K, BK):
        depth = first + k
        x = tl.load(
            a + m[:, None] * K + depth[None, :], mask=(m[:, None] < M) & (depth[None, :] < K), other=0.0
        )
        y = tl.load(
            b + depth[:, None] * N + n[None, :], mask=(depth[:, None] < K) & (n[None, :] < N), other=0.0
        )
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


@tri.jit
def grouped(a, b, c, count, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """``c = a b`` of as many rows as memory says."""
    rows = tl.load(count)
    da = tl.make_tensor_descriptor(a, [rows, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    om, on = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(da.load([om, k]), db.load([k, on]), acc)
    dc.store([om, on], acc.to(tl.float16))


@tri.jit
def everything(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """``c = a b``, with one iteration more than K asks for, which reads nothing but what is outside."""
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for first in range(0, K + BK, BK):
        depth = first + k
        x = tl.load(
            a + m[:, None] * K + depth[None, :], mask=(m[:, None] < M) & (depth[None, :] < K), other=0.0
        )
        y = tl.load(
            b + depth[:, None] * N + n[None, :], mask=(depth[:, None] < K) & (n[None, :] < N), other=0.0
        )
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))
