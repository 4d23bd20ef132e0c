"""A dot whose three sizes are constexprs, by one program: no masks, one loop along k."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def whole_matmul(
    a, b, c,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """The first ``BLOCK_M x BLOCK_N`` elements of ``a @ b``, in f32."""
    m, n, k = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    a_ptrs = a + m[:, None] * stride_am + k[None, :] * stride_ak
    b_ptrs = b + k[:, None] * stride_bk + n[None, :] * stride_bn
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for _ in range(0, K, BLOCK_K):
        total += tl.dot(tl.load(a_ptrs), tl.load(b_ptrs))
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    tl.store(c + m[:, None] * stride_cm + n[None, :] * stride_cn, total)
