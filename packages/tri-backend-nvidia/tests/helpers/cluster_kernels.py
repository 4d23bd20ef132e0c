"""Kernels whose programs are run by clusters of CTAs: in the simulator and on a GPU."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def added(x, y, z, n, BLOCK: tl.constexpr):
    """Sums, and behind them the number of programs, by each program."""
    pid = tl.program_id(0) + tl.num_programs(0) * tl.program_id(1)
    places = pid * BLOCK + tl.arange(0, BLOCK)
    inside = places < n
    tl.store(z + places, tl.load(x + places, mask=inside) + tl.load(y + places, mask=inside), mask=inside)
    tl.store(z + n + pid, (tl.num_programs(0) * tl.num_programs(1)).to(tl.float32))


@tri.jit
def softmax(x, y, M: tl.constexpr, N: tl.constexpr):
    """Of rows."""
    places = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x + places)
    powers = tl.exp(value - tl.max(value, 1)[:, None])
    tl.store(y + places, powers / tl.sum(powers, 1)[:, None])


@tri.jit
def sums(x, y, at, M: tl.constexpr, N: tl.constexpr):
    """Of columns, of all, and where the largest of each column is."""
    value = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    columns = tl.sum(value, 0)
    tl.store(y + tl.arange(0, N), columns)
    tl.store(y + N, tl.sum(columns))
    tl.store(at + tl.arange(0, N), tl.argmax(value, 0))


@tri.jit
def transposed(x, y, M: tl.constexpr, N: tl.constexpr):
    """The transpose."""
    value = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(y + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :], tl.trans(value))


@tri.jit
def ordered(x, y, N: tl.constexpr):
    """Running sums from both ends, and the elements in order."""
    places = tl.arange(0, N)
    value = tl.load(x + places)
    tl.store(y + places, tl.cumsum(value))
    tl.store(y + N + places, tl.cumsum(value, reverse=True))
    tl.store(y + 2 * N + places, tl.sort(value))


@tri.jit
def counted(x, y, N: tl.constexpr, BINS: tl.constexpr):
    """How often each value is there, and the values at other places."""
    places = tl.arange(0, N)
    value = tl.load(x + places)
    tl.store(y + tl.arange(0, BINS), tl.histogram(value, BINS))
    tl.store(y + BINS + places, tl.gather(value, (places * 7) % N, 0))


@tri.jit
def atomics(x, y, old, N: tl.constexpr):
    """Each element, and each scalar, is added once, and all CTAs learn what was there."""
    places = tl.arange(0, N)
    tl.atomic_add(y + places % 8, tl.load(x + places))
    ticket = tl.atomic_add(y + 8, 1)
    few = tl.atomic_add(y + 9 + tl.arange(0, 4), 1 + tl.arange(0, 4))
    swapped = tl.atomic_cas(y + 13, 0, ticket + 1)
    tl.store(
        old + tl.program_id(0) * N + places, places * 0 + ticket + 1000 * tl.sum(few, 0) + 100000 * swapped
    )


@tri.jit
def through_memory(x, y, z, N: tl.constexpr):
    """What one CTA has stored, another one loads behind a barrier."""
    places = tl.arange(0, N)
    tl.store(y + places, tl.load(x + places))
    tl.debug_barrier()
    tl.store(z + places, tl.load(y + (N - 1) - places))


@tri.jit
def looped(x, y, n, M: tl.constexpr, N: tl.constexpr):
    """Sums of a loop whose rows the CTAs share, normalized by their largest."""
    total = tl.zeros((M,), tl.float32)
    for i in range(n):
        total += tl.sum(tl.load(x + i * M * N + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]), 1)
    tl.store(y + tl.arange(0, M), total / tl.max(total, 0))


@tri.jit
def matmul(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A dot of one step."""
    rows, columns, depth = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    x = tl.load(a + rows * K + depth[None, :])
    tl.store(c + rows * N + columns, tl.dot(x, tl.load(b + depth[:, None] * N + columns)))


@tri.jit
def gemm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, COLUMNS: tl.constexpr):
    """``c = a b`` in a loop along k, masked rows and columns; with ``COLUMNS``, ``b`` is stored by columns."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + depth)[None, :], mask=rows[:, None] < M, other=0.0)
        if COLUMNS:
            y = tl.load(b + columns[:, None] * K + (k + depth)[None, :], mask=columns[:, None] < N, other=0.0)
            acc = tl.dot(x, y.T, acc)
        else:
            y = tl.load(b + (k + depth)[:, None] * N + columns[None, :], mask=columns[None, :] < N, other=0.0)
            acc = tl.dot(x, y, acc)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], acc.to(tl.float16), mask=inside)


@tri.jit
def attention(q, k, v, o, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Rows of ``softmax(q k^T) v``: each CTA has rows of its own in both dots."""
    rows, depth = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    block = tl.load(q + rows[:, None] * D + depth[None, :])
    m = tl.full((BM,), float("-inf"), tl.float32)
    total, acc = tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for n in range(0, S, BN):
        keys = n + tl.arange(0, BN)
        s = tl.dot(block, tl.load(k + keys[:, None] * D + depth[None, :]).T) * 1.44269504
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        alpha = tl.exp2(m - new)
        total = total * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + keys[:, None] * D + depth[None, :]), acc * alpha[:, None])
        m = new
    tl.store(o + rows[:, None] * D + depth[None, :], (acc / total[:, None]).to(tl.float16))


@tri.jit
def counted_gemm(a, b, c, iterations, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """``c = a b`` by descriptors, with an atomic in the loop: no warps of their own copy its blocks."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    om, on = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(da.load([om, k]), db.load([k, on]), acc)
        tl.atomic_add(iterations, 1)
    tl.store(c + (om + tl.arange(0, BM))[:, None] * N + (on + tl.arange(0, BN))[None, :], acc)


@tri.jit
def along(x, y, z, w, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    """Running sums along an axis, sums along it, and the elements of a row or column backwards."""
    places = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x + places)
    tl.store(y + places, tl.cumsum(value, AXIS, reverse=REVERSE))
    if AXIS == 0:
        tl.store(z + tl.arange(0, N), tl.sum(value, 0))
        backwards = M - 1 - tl.arange(0, M)[:, None] + tl.arange(0, N)[None, :] * 0
    else:
        tl.store(z + tl.arange(0, M), tl.sum(value, 1))
        backwards = N - 1 - tl.arange(0, N)[None, :] + tl.arange(0, M)[:, None] * 0
    tl.store(w + places, tl.gather(value, backwards, AXIS))


@tri.jit
def row_sums(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Sums of the rows of a dot, whose columns CTAs share."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns, depth = tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + depth)[None, :])
        acc = tl.dot(x, tl.load(b + (k + depth)[:, None] * N + columns[None, :]), acc)
    tl.store(c + rows, tl.sum(acc, 1))
