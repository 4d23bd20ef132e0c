"""Matrix multiplication through tensor descriptors that the host makes."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def matmul_descriptor(
    a, b, c, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """c = a @ b with a [M, K], b [K, N]; each program makes one tile of c, in groups of GROUP_M rows of tiles."""
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    group = pid // (GROUP_M * tiles_n)
    first_m = group * GROUP_M
    size_m = min(tiles_m - first_m, GROUP_M)
    row = (first_m + (pid % (GROUP_M * tiles_n)) % size_m) * BLOCK_M
    column = ((pid % (GROUP_M * tiles_n)) // size_m) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        x = a.load([row, k * BLOCK_K])
        y = b.load([k * BLOCK_K, column])
        acc = tl.dot(x, y, acc)
    c.store([row, column], acc.to(c.dtype))
