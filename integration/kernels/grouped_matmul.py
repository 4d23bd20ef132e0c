"""Several dots at once: rows of a belong to groups, each with a matrix of its own."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def grouped_matmul(
    a_ptr, b_ptr, c_ptr, starts_ptr, groups, N, K, stride_a, stride_bg, stride_b, stride_c,
    PROGRAMS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """c[rows of g] = a[rows of g] @ b[g] with b [groups, K, N]; rows of g are starts[g] to starts[g + 1].

    PROGRAMS programs share the tiles of all groups.
    """
    pid = tl.program_id(0)
    tiles_n = tl.cdiv(N, BLOCK_N)
    done = 0
    for g in range(groups):
        first = tl.load(starts_ptr + g)
        rows = tl.load(starts_ptr + g + 1) - first
        tiles = tl.cdiv(rows, BLOCK_M) * tiles_n
        # the first tile of this group that is this program's
        mine = (pid + PROGRAMS - done % PROGRAMS) % PROGRAMS
        for tile in range(mine, tiles, PROGRAMS):
            row = (tile // tiles_n) * BLOCK_M + tl.arange(0, BLOCK_M)
            column = (tile % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N)
            depth = tl.arange(0, BLOCK_K)
            a_ptrs = a_ptr + (first + row % rows)[:, None] * stride_a + depth[None, :]
            b_ptrs = b_ptr + g * stride_bg + depth[:, None] * stride_b + (column % N)[None, :]
            acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for k in range(tl.cdiv(K, BLOCK_K)):
                a = tl.load(a_ptrs, mask=depth[None, :] < K - k * BLOCK_K, other=0.0)
                b = tl.load(b_ptrs, mask=depth[:, None] < K - k * BLOCK_K, other=0.0)
                acc = tl.dot(a, b, acc)
                a_ptrs += BLOCK_K
                b_ptrs += BLOCK_K * stride_b
            mask = (row[:, None] < rows) & (column[None, :] < N)
            c_ptrs = c_ptr + (first + row)[:, None] * stride_c + column[None, :]
            tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)
        done += tiles
