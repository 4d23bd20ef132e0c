"""Kernels that make descriptors of tensors that they alone know."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def copied_groups(x, sizes, out, N, stride, groups, NAN: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    """Rows of groups plus 1, a block more than each group has: that is past its end, and all of what an empty one has."""
    start = 0
    for g in range(groups):
        m = tl.load(sizes + g)
        source = tl.make_tensor_descriptor(
            x + start * stride, [m, N], [stride, 1], [B, C], padding_option="nan" if NAN else "zero"
        )
        target = tl.make_tensor_descriptor(out + start * stride, [m, N], [stride, 1], [B, C])
        seen = tl.zeros((B, C), tl.float32)
        for i in range(tl.cdiv(m, B) + 1):
            for j in range(tl.cdiv(N, C)):
                block = source.load([i * B, j * C])
                target.store([i * B, j * C], block + 1)
                seen += block
        start += m


@tri.jit
def groups_of_descriptors(
    a, b, c, starts, groups, N, K, stride_a, stride_bg, stride_b, stride_c,
    PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """c[rows of g] = a[rows of g] @ b[g]; PROGRAMS programs share the tiles of each group."""
    tiles_n = tl.cdiv(N, BN)
    for g in range(groups):
        first = tl.load(starts + g)
        rows = tl.load(starts + g + 1) - first
        left = tl.make_tensor_descriptor(a + first * stride_a, [rows, K], [stride_a, 1], [BM, BK])
        right = tl.make_tensor_descriptor(b + g * stride_bg, [K, N], [stride_b, 1], [BK, BN])
        out = tl.make_tensor_descriptor(c + first * stride_c, [rows, N], [stride_c, 1], [BM, BN])
        for tile in range(tl.program_id(0), tl.cdiv(rows, BM) * tiles_n, PROGRAMS):
            row, column = (tile // tiles_n) * BM, (tile % tiles_n) * BN
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for k in range(0, K, BK):
                acc = tl.dot(left.load([row, k]), right.load([k, column]), acc)
            out.store([row, column], acc.to(tl.float16))


@tri.jit
def groups_of_pointers(
    a, b, c, starts, groups, N, K, stride_a, stride_bg, stride_b, stride_c,
    PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """The same by pointers: rows wrap at the group's end, and its rows alone are stored."""
    tiles_n = tl.cdiv(N, BN)
    for g in range(groups):
        first = tl.load(starts + g)
        rows = tl.load(starts + g + 1) - first
        for tile in range(tl.program_id(0), tl.cdiv(rows, BM) * tiles_n, PROGRAMS):
            row = (tile // tiles_n) * BM + tl.arange(0, BM)
            column = (tile % tiles_n) * BN + tl.arange(0, BN)
            depth = tl.arange(0, BK)
            a_ptrs = a + (first + row % rows)[:, None] * stride_a + depth[None, :]
            b_ptrs = b + g * stride_bg + depth[:, None] * stride_b + (column % N)[None, :]
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for k in range(tl.cdiv(K, BK)):
                x = tl.load(a_ptrs, mask=depth[None, :] < K - k * BK, other=0.0)
                y = tl.load(b_ptrs, mask=depth[:, None] < K - k * BK, other=0.0)
                acc = tl.dot(x, y, acc)
                a_ptrs += BK
                b_ptrs += BK * stride_b
            mask = (row[:, None] < rows) & (column[None, :] < N)
            tl.store(c + (first + row)[:, None] * stride_c + column[None, :], acc.to(tl.float16), mask=mask)


@tri.jit
def once(x, sizes, out, stride, B: tl.constexpr, C: tl.constexpr):
    """A descriptor for one access, which making it would take longer than."""
    source = tl.make_tensor_descriptor(x, [tl.load(sizes), C], [stride, 1], [B, C])
    places = tl.arange(0, B)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(out + places, source.load([0, 0]))
