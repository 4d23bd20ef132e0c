"""Matrix multiplication by a fixed number of programs, each of which goes through several tiles."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def persistent_matmul(
    a_ptr, b_ptr, c_ptr,
    M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    PROGRAMS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """c = a @ b, summed as c's type if that is int32 or f64; program p makes the tiles p, p + PROGRAMS, ... of c."""
    result: tl.constexpr = c_ptr.dtype.element_ty
    total: tl.constexpr = result if result == tl.int32 or result == tl.float64 else tl.float32
    tiles_n = tl.cdiv(N, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    for tile in range(tl.program_id(0), tl.cdiv(M, BLOCK_M) * tiles_n, PROGRAMS):
        rows = (tile // tiles_n) * BLOCK_M + tl.arange(0, BLOCK_M)
        columns = (tile % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=total)
        for k in range(0, K, BLOCK_K):
            inner = k + depth
            a_mask = (rows[:, None] < M) & (inner[None, :] < K)
            b_mask = (inner[:, None] < K) & (columns[None, :] < N)
            a = tl.load(a_ptr + rows[:, None] * stride_am + inner[None, :] * stride_ak, mask=a_mask, other=0)
            b = tl.load(
                b_ptr + inner[:, None] * stride_bk + columns[None, :] * stride_bn, mask=b_mask, other=0
            )
            acc = tl.dot(a, b, acc, out_dtype=total)
        c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
        tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (columns[None, :] < N))


@tri.jit
def persistent_matmul_descriptor(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
    PROGRAMS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """The same through descriptors that the kernel makes; rows are stored one after the other, multiples of 16 bytes apart."""
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [stride_a, 1], [BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [stride_b, 1], [BLOCK_K, BLOCK_N])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [stride_c, 1], [BLOCK_M, BLOCK_N])
    tiles_n = tl.cdiv(N, BLOCK_N)
    for tile in range(tl.program_id(0), tl.cdiv(M, BLOCK_M) * tiles_n, PROGRAMS):
        row = (tile // tiles_n) * BLOCK_M
        column = (tile % tiles_n) * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, K, BLOCK_K):
            acc = tl.dot(a_desc.load([row, k]), b_desc.load([k, column]), acc)
        c_desc.store([row, column], acc.to(c_desc.dtype))
