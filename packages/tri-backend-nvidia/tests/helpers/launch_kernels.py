"""Kernels whose launches depend on each other or wait for each other, for the simulator and for a GPU."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def dependent_gemm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """``c = a b``, a tile per program; waits for the grids that make ``a`` and ``b``."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    om, on = tl.program_id(0) * BM, tl.program_id(1) * BN
    tl.extra.cuda.gdc_wait()
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(da.load([om, k]), db.load([k, on]), acc)
    tl.extra.cuda.gdc_launch_dependents()
    dc.store([om, on], acc.to(tl.float16))


@tri.jit
def waits_in_its_loop(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """``c = a b`` of one tile, by pointers; each step waits."""
    rows, columns, inner = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        tl.extra.cuda.gdc_wait()
        x = tl.load(a + rows[:, None] * K + (k + inner)[None, :])
        y = tl.load(b + (k + inner)[:, None] * BN + columns[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * BN + columns[None, :], acc.to(tl.float16))


@tri.jit
def worded(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WORD: tl.constexpr):
    """``c = a b``, a tile per program; the loop says ``WORD`` about warps that copy."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    om, on = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=WORD):
        acc = tl.dot(da.load([om, k]), db.load([k, on]), acc)
    dc.store([om, on], acc.to(tl.float16))


@tri.jit
def add_one(x, y, n, BLOCK: tl.constexpr, DEPENDENT: tl.constexpr):
    """``y = x + 1``; with ``DEPENDENT``, begun before what makes ``x`` has ended."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    value = tl.load(x + i, mask=i < n)
    if DEPENDENT:
        tl.extra.cuda.gdc_launch_dependents()
    tl.store(y + i, value + 1, mask=i < n)


@tri.jit
def meet_and_sum(x, partial, arrived, out, n, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    """``out[p] = sum(x)``: every program adds up its part, waits for all, then adds up the parts."""
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(p * BLOCK, n, PROGRAMS * BLOCK):
        total += tl.load(x + start + i, mask=start + i < n, other=0.0)
    tl.store(partial + p, tl.sum(total))
    tl.debug_barrier()
    tl.atomic_add(arrived, 1, sem="release", scope="gpu")
    while tl.atomic_add(arrived, 0, sem="acquire", scope="gpu") < PROGRAMS:
        pass
    parts = tl.load(partial + tl.arange(0, PROGRAMS), cache_modifier=".cg")
    tl.store(out + p, tl.sum(parts))


@tri.jit
def fails_on(x, limit):
    """An assertion: what needs a record in memory of the host when it is loaded."""
    value = tl.load(x)
    tl.device_assert(value < limit, "too large")
    tl.store(x, value + 1)
