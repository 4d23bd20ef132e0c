"""Matrix multiplication by blocks through descriptors that the kernel makes, with operands in either order."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def blocks_matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
    A_T: tl.constexpr, B_T: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """c = a @ b, [M, N] in f32 or i32; a is [M, K], or [K, M] with A_T; b is [K, N], or [N, K] with B_T."""
    if A_T:
        a = tl.make_tensor_descriptor(a_ptr, [K, M], [stride_a, 1], [BLOCK_K, BLOCK_M])
    else:
        a = tl.make_tensor_descriptor(a_ptr, [M, K], [stride_a, 1], [BLOCK_M, BLOCK_K])
    if B_T:
        b = tl.make_tensor_descriptor(b_ptr, [N, K], [stride_b, 1], [BLOCK_N, BLOCK_K])
    else:
        b = tl.make_tensor_descriptor(b_ptr, [K, N], [stride_b, 1], [BLOCK_K, BLOCK_N])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [stride_c, 1], [BLOCK_M, BLOCK_N])
    row, column = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    kind: tl.constexpr = tl.int32 if a_ptr.dtype.element_ty == tl.int8 else tl.float32
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=kind)
    for k in range(tl.cdiv(K, BLOCK_K)):
        x = tl.trans(a.load([k * BLOCK_K, row])) if A_T else a.load([row, k * BLOCK_K])
        y = tl.trans(b.load([column, k * BLOCK_K])) if B_T else b.load([k * BLOCK_K, column])
        acc = tl.dot(x, y, acc, out_dtype=kind, input_precision="tf32")
    c.store([row, column], acc)
