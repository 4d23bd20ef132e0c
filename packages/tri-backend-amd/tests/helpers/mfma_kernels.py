"""A matmul for every MFMA, in the simulator against double precision."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import tri
import tri.language as tl

__all__ = ["DTYPES", "compiled_matmul", "machine_code", "matmul", "run"]

#: MLIR's element types -> NumPy's
DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "f32": np.float32,
    "f64": np.float64,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}
_TOTALS = {"f32": (tl.float32, np.float32), "i32": (tl.int32, np.int32), "f64": (tl.float64, np.float64)}


@tri.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TOTAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Row-major operands, everything masked."""
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), TOTAL)
    for k in range(0, K, BK):
        depth = k + rk
        x = tl.load(
            a_ptr + rm[:, None] * K + depth[None, :], mask=(rm[:, None] < M) & (depth[None, :] < K), other=0.0
        )
        y = tl.load(
            b_ptr + depth[:, None] * N + rn[None, :], mask=(rn[None, :] < N) & (depth[:, None] < K), other=0.0
        )
        acc = tl.dot(x, y, acc, out_dtype=TOTAL, input_precision=PRECISION)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def run(
    chip: str,
    kinds: tuple[str, str],
    total: str,
    shape: tuple[int, int, int],
    block: tuple[int, int, int],
    *,
    precision: str = "ieee",
    warps: int = 1,
) -> tuple[float, str]:
    """The largest error of a matmul over what its sums of absolute products come to, and the TTGIR."""
    (m, n, k), rng = shape, np.random.default_rng(sum(shape))
    sides = []
    for kind, size in zip(kinds, ((m, k), (k, n)), strict=True):
        values = rng.integers(-128, 128, size) if kind == "i8" else rng.standard_normal(size)
        sides.append(values.astype(DTYPES[kind]))
    language, dtype = _TOTALS[total]
    c = np.full((m, n), 7, dtype)
    grid = (tri.cdiv(m, block[0]), tri.cdiv(n, block[1]))
    names = dict(zip(("BM", "BN", "BK"), block, strict=True))
    with tri.target(f"sim:amd:{chip}"):
        kernel = matmul[grid](
            *sides, c, m, n, k, **names, TOTAL=language, PRECISION=precision, num_warps=warps
        )
    a, b = (side.astype(np.float64) for side in sides)
    return float((np.abs(c - a @ b) / (np.abs(a) @ np.abs(b) + 1e-9)).max()), kernel.asm["ttgir"]


_POINTERS = {"f16": "fp16", "bf16": "bf16", "i8": "i8", "f8E4M3FNUZ": "fp8e4b8", "f8E5M2": "fp8e5"}


def machine_code(chip: str, kind: str, block: tuple[int, int, int], **options: int) -> str:
    """The assembly of :func:`compiled_matmul`."""
    return str(compiled_matmul(chip, kind, block, **options).asm["amdgcn"])


def compiled_matmul(chip: str, kind: str, block: tuple[int, int, int], **options: int) -> Any:
    """The matmul for ``chip``, by four wavefronts unless ``options`` say otherwise; arrays are small, sizes multiples of 16."""
    total = tl.int32 if kind == "i8" else tl.float32
    types = {
        "a_ptr": f"*{_POINTERS[kind]}",
        "b_ptr": f"*{_POINTERS[kind]}",
        "c_ptr": f"*{'i32' if kind == 'i8' else 'fp32'}",
    }
    values = {**dict(zip(("BM", "BN", "BK"), block, strict=True)), "TOTAL": total, "PRECISION": "ieee"}
    types |= dict.fromkeys(("M", "N", "K"), "i32") | dict.fromkeys(values, "constexpr")
    facts = {(i,): [["tt.divisibility", 16], ["tt.pointer_range", 32]][: 2 if i < 3 else 1] for i in range(6)}
    source = tri.ASTSource(matmul, types, values, facts)
    return tri.compile(source, target=f"amd:{chip}", options={"num_warps": 4, **options})
