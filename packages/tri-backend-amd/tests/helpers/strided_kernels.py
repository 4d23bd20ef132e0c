"""A matmul of operands that lie in memory in rows or columns: in the simulator against double precision, and as machine code."""

from __future__ import annotations

from typing import Any

import numpy as np

import tri
import tri.language as tl
from mfma_kernels import DTYPES

__all__ = ["compiled", "run", "strided"]

_NAMES = {"f16": "fp16", "bf16": "bf16", "i8": "i8", "f8E4M3FN": "fp8e4nv"}


@tri.jit
def strided(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """``c = a @ b``; everything masked, c in rows."""
    total: tl.constexpr = tl.int32 if c_ptr.dtype.element_ty == tl.int32 else tl.float32
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), total)
    for k in range(0, K, BK):
        depth = k + rk
        inside_a, inside_b = (
            (rm[:, None] < M) & (depth[None, :] < K),
            (depth[:, None] < K) & (rn[None, :] < N),
        )
        x = tl.load(a_ptr + rm[:, None] * stride_am + depth[None, :] * stride_ak, mask=inside_a, other=0.0)
        y = tl.load(b_ptr + depth[:, None] * stride_bk + rn[None, :] * stride_bn, mask=inside_b, other=0.0)
        acc = tl.dot(x, y, acc, out_dtype=total)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def run(
    chip: str,
    kind: str,
    columns: tuple[bool, bool],
    shape: tuple[int, int, int],
    block: tuple[int, int, int],
    **options: int,
) -> tuple[float, str]:
    """The largest error over what the sums of absolute products come to, and the TTGIR; ``columns``: which operands lie in columns."""
    (m, n, k), rng = shape, np.random.default_rng(sum(shape))
    sides, strides = [], []
    for size, is_in_columns in zip(((m, k), (k, n)), columns, strict=True):
        values = rng.integers(-128, 128, size) if kind == "i8" else rng.standard_normal(size)
        side = values.astype(DTYPES[kind])
        sides.append(side)
        strides += [1, size[0]] if is_in_columns else [size[1], 1]
    stored = [np.ascontiguousarray(s.T) if c else s for s, c in zip(sides, columns, strict=True)]
    c = np.full((m, n), 7, np.int32 if kind == "i8" else np.float32)
    names = dict(zip(("BM", "BN", "BK"), block, strict=True))
    with tri.target(f"sim:amd:{chip}"):
        grid = (tri.cdiv(m, block[0]), tri.cdiv(n, block[1]))
        kernel = strided[grid](*stored, c, m, n, k, *strides, **names, **options)
    a, b = (side.astype(np.float64) for side in sides)
    return float((np.abs(c - a @ b) / (np.abs(a) @ np.abs(b) + 1e-9)).max()), kernel.asm["ttgir"]


def compiled(chip: str, kind: str, block: tuple[int, int, int], *, small: bool = True, **options: int) -> Any:
    """The kernel for ``chip`` with A in rows, B in columns; sizes are multiples of 16, arrays ``small`` ones or of any size."""
    types = dict.fromkeys(("a_ptr", "b_ptr"), f"*{_NAMES[kind]}")
    types["c_ptr"] = "*i32" if kind == "i8" else "*fp32"
    types |= dict.fromkeys(("M", "N", "K", "stride_am"), "i32")
    values = dict(zip(("BM", "BN", "BK"), block, strict=True)) | {"stride_ak": 1, "stride_bk": 1}
    order = strided.arg_names
    signature = {name: types.get(name, "i32" if name == "stride_bn" else "constexpr") for name in order}
    facts = {}
    for number, name in enumerate(order):
        if signature[name] != "constexpr":
            is_small = signature[name].startswith("*") and small
            facts[number,] = [["tt.divisibility", 16], *([["tt.pointer_range", 32]] if is_small else [])]
    source = tri.ASTSource(strided, signature, values, facts)
    return tri.compile(source, target=f"amd:{chip}", options=options)
