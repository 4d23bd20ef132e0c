"""A matmul of the explicit level by AMD's instructions: buffer loads and MFMA."""

from __future__ import annotations

from tri.experimental import gluon
from tri.experimental.gluon import language as gl

cdna3 = gl.amd.cdna3

__all__ = ["cdna_matmul"]


@gluon.jit
def cdna_matmul(  # type: ignore[no-untyped-def]
    a, b, c, M, N, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, result: gl.constexpr
):
    """A tile of ``C = A @ B`` (float16, float32 sums) a program: loads of the next tile are under way while MFMA multiplies."""
    rows: gl.constexpr = gl.BlockedLayout([1, 8], [64 * 8 // BK, BK // 8], [gl.num_warps(), 1], [1, 0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(4, 1, 8, [1, 0])
    m = gl.program_id(0) * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, rows))
    n = gl.program_id(1) * BN + gl.arange(0, BN, layout=gl.SliceLayout(0, rows))
    ka = gl.arange(0, BK, layout=gl.SliceLayout(0, rows))
    kb = gl.arange(0, BK, layout=gl.SliceLayout(1, rows))
    a_tile = gl.allocate_shared_memory(gl.float16, [BM, BK], shared)
    b_tile = gl.allocate_shared_memory(gl.float16, [BK, BN], shared)
    left = cdna3.buffer_load(a, m[:, None] * K + ka[None, :], mask=(m < M)[:, None] & (ka < K)[None, :])
    right = cdna3.buffer_load(b, kb[:, None] * N + n[None, :], mask=(kb < K)[:, None] & (n < N)[None, :])
    acc = gl.zeros([BM, BN], gl.float32, result)
    for _ in range(0, K, BK):
        a_tile.store(left)
        b_tile.store(right)
        ka += BK
        kb += BK
        left = cdna3.buffer_load(a, m[:, None] * K + ka[None, :], mask=(m < M)[:, None] & (ka < K)[None, :])
        right = cdna3.buffer_load(b, kb[:, None] * N + n[None, :], mask=(kb < K)[:, None] & (n < N)[None, :])
        x = a_tile.load(gl.DotOperandLayout(0, result, 4))
        y = b_tile.load(gl.DotOperandLayout(1, result, 4))
        acc = cdna3.mfma(x, y, acc)
    mc = gl.program_id(0) * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, result))
    nc = gl.program_id(1) * BN + gl.arange(0, BN, layout=gl.SliceLayout(0, result))
    inside = (mc < M)[:, None] & (nc < N)[None, :]
    cdna3.buffer_store(acc, c, mc[:, None] * N + nc[None, :], mask=inside)
