"""Kernels for the SIMD path, and matrices that lie as a test wants them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import tri
import tri.language as tl

Array = npt.NDArray[Any]

BLOCKS = ("BLOCK_M", "BLOCK_N", "BLOCK_K")


@tri.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
    A_T: tl.constexpr, B_T: tl.constexpr, SCALED: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
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
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        x = tl.trans(a.load([k * BLOCK_K, row])) if A_T else a.load([row, k * BLOCK_K])
        y = tl.trans(b.load([column, k * BLOCK_K])) if B_T else b.load([k * BLOCK_K, column])
        total = tl.dot(x, y, total)
    if SCALED:
        total = tl.where(total > 0, total * 2.0 + 1.0, tl.exp2(total))
    c.store([row, column], total.to(c.dtype))


def source(kind: str = "fp16", block: tuple[int, int, int] = (128, 128, 32), out: str = "fp32") -> Any:
    """``matmul`` of whole blocks of 16 bytes."""
    constants: dict[str, Any] = dict(zip(BLOCKS, block, strict=True))
    constants |= {"A_T": False, "B_T": False, "SCALED": False}
    numbers = ("M", "N", "K", "stride_a", "stride_b", "stride_c")
    signature = {"a_ptr": f"*{kind}", "b_ptr": f"*{kind}", "c_ptr": f"*{out}"} | dict.fromkeys(numbers, "i32")
    whole = {(i,): [["tt.divisibility", 16]] for i in range(len(signature))}
    return tri.ASTSource(matmul, signature | dict.fromkeys(constants, "constexpr"), constants, whole)


def compiled(*args: Any, target: str = "intel:pvc", warps: int = 32, **more: Any) -> Any:
    """``source(...)`` for ``target`` by the SIMD path."""
    return tri.compile(source(*args, **more), target=target, options={"num_warps": warps, "path": "simd"})


def placed(values: Array, offset: int, pitch: int) -> Array:
    """``values`` ``offset`` bytes from a multiple of 64, rows ``pitch`` elements apart; NaN around them."""
    rows, columns = values.shape
    room = np.full(rows * pitch * values.itemsize + 256, 0x7F, np.uint8)
    start = -room.ctypes.data % 64 + offset
    flat = room[start : start + rows * pitch * values.itemsize].view(values.dtype)
    made = flat.reshape(rows, pitch)[:, :columns]
    made[...] = values
    return made
