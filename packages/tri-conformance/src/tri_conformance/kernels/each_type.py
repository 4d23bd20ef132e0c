"""Reductions, scans, order, shapes and conversions, each of one element type: every result has the type that is expected."""

from __future__ import annotations

import tri
import tri.language as tl
from tri_conformance.kernels.blocks import put


@tri.jit
def _read(x, M: tl.constexpr, N: tl.constexpr):
    return tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])


@tri.jit
def _larger(a, b):
    return tl.where(a > b, a, b)


@tri.jit
def reductions(outs, x, y, WIDE: tl.constexpr, INTEGERS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Sums of x, extremes of y, along rows; INTEGERS: bits too; WIDE: the type of a sum that is asked for."""
    v, w = _read(x, M, N), _read(y, M, N)
    put(outs[0], tl.sum(v, 1), M)
    put(outs[1], tl.sum(v, 1, dtype=WIDE), M)
    put(outs[2], tl.max(w, 1), M)
    put(outs[3], tl.min(w, 1), M)
    top, at = tl.max(w, 1, return_indices=True)
    put(outs[4], top, M)
    put(outs[5], at, M)
    least, where = tl.min(w, 1, return_indices=True)
    put(outs[6], least, M)
    put(outs[7], where, M)
    put(outs[8], tl.argmax(w, 1), M)
    put(outs[9], tl.argmin(w, 1), M)
    put(outs[10], tl.reduce(w, 1, _larger), M)
    put(outs[11], tl.max(w) + tl.zeros([M], outs[11].dtype.element_ty), M)
    if INTEGERS:
        put(outs[12], tl.xor_sum(w, 1), M)
        put(outs[13], tl.reduce_or(v, 1), M)


@tri.jit
def scans(outs, x, y, WIDE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Running sums of x and products of y along rows; WIDE: the type that is asked for."""
    v, w = _read(x, M, N), _read(y, M, N)
    put(outs[0], tl.cumsum(v, 1), M * N)
    put(outs[1], tl.cumsum(v, 1, reverse=True), M * N)
    put(outs[2], tl.cumsum(v, 1, dtype=WIDE), M * N)
    put(outs[3], tl.cumprod(w, 1), M * N)
    put(outs[4], tl.cumprod(w, 1, reverse=True), M * N)
    put(outs[5], tl.cumprod(w, 1, dtype=WIDE), M * N)
    put(outs[6], tl.associative_scan(v, 1, _larger), M * N)
    put(outs[7], tl.associative_scan(v, 0, _larger, reverse=True), M * N)


@tri.jit
def orders(outs, x, y, M: tl.constexpr, N: tl.constexpr):
    """Rows of x sorted, and its best; rows of y rise and then fall."""
    v = _read(x, M, N)
    put(outs[0], tl.sort(v), M * N)
    put(outs[1], tl.sort(v, descending=True), M * N)
    put(outs[2], tl.topk(v, N), M * N)
    put(outs[3], tl.topk(v, 4), M * 4)
    put(outs[4], tl.topk(v, 4, descending=False), M * 4)
    put(outs[5], tl.topk(v, 1), M)
    put(outs[6], tl.bitonic_merge(_read(y, M, N)), M * N)
    put(outs[7], tl.bitonic_merge(_read(y, M, N), descending=True), M * N)


@tri.jit
def shapes(outs, x, y, index, M: tl.constexpr, N: tl.constexpr):
    """Movement, repetition and selection of elements of any type."""
    T: tl.constexpr = x.dtype.element_ty
    v, w = _read(x, M, N), _read(y, M, N)
    put(outs[0], tl.permute(v, 1, 0), M * N)
    put(outs[1], tl.trans(v), M * N)
    put(outs[2], tl.reshape(v, (N, M)), M * N)
    put(outs[3], tl.view(v, (M * N,)), M * N)
    put(outs[4], tl.ravel(v.T), M * N)
    put(outs[5], tl.flip(v, 0), M * N)
    put(outs[6], tl.flip(v), M * N)
    put(outs[7], tl.squeeze(tl.unsqueeze(tl.expand_dims(v, 0), 2), 2), M * N)
    put(outs[8], tl.broadcast_to(tl.load(x + tl.arange(0, N))[None, :], (M, N)), M * N)
    put(outs[9], tl.broadcast(v, tl.load(x + 1))[1], M * N)
    put(outs[10], tl.join(v, w), 2 * M * N)
    put(outs[11], tl.interleave(v, w), 2 * M * N)
    first, second = tl.split(tl.reshape(v, (M, N // 2, 2)))
    put(outs[12], tl.cat(first, second, dim=1), M * N)
    i = tl.reshape(tl.load(index + tl.arange(0, M * N)), (M, N))
    put(outs[13], tl.gather(v, i, 1), M * N)
    put(outs[14], tl.gather(v, i % M, 0), M * N)
    put(outs[15], tl.where(i > 3, v, w), M * N)
    put(outs[16], tl.zeros_like(v), M * N)
    put(outs[17], tl.zeros((M, N), T), M * N)
    put(outs[18], tl.full((M, N), 1, T), M * N)
    place = x + tl.arange(0, M * N)
    put(outs[19], tl.load(place, mask=tl.arange(0, M * N) > 3, other=1), M * N)
    put(outs[20], tl.load(place, cache_modifier=".cg", eviction_policy="evict_first"), M * N)
    put(outs[21], tl.load(place, volatile=True), M * N)
    tl.store(outs[22] + tl.arange(0, M * N), tl.ravel(v), cache_modifier=".wb", eviction_policy="evict_last")


@tri.jit
def conversions(outs, xs, BITS: tl.constexpr, N: tl.constexpr):
    """Each of xs in the type of the output beside it."""
    for k in tl.static_range(len(xs)):
        v = tl.load(xs[k] + tl.arange(0, N))
        if k % 2 == 0:
            put(outs[k], v.to(outs[k].dtype.element_ty, bitcast=BITS), N)
        else:
            put(outs[k], tl.cast(v, outs[k].dtype.element_ty, bitcast=BITS), N)
