"""Matmuls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from integration.bench_gpu.case import Case, Config, descriptor_of

__all__ = ["CASES"]


def tiles(*rows: tuple[int, int, int, int, int]) -> list[dict[str, int]]:
    """Configurations (m, n, k, warps, stages)."""
    return [
        {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "num_warps": w, "num_stages": s} for m, n, k, w, s in rows
    ]


_WIDE = tiles((128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (128, 128, 64, 4, 4), (128, 128, 64, 8, 4))
_BYTES = tiles((128, 256, 128, 8, 3), (128, 256, 128, 8, 4), (128, 128, 128, 4, 4), (128, 128, 128, 8, 4))
_BYTES_BY_ROWS = tiles((128, 256, 128, 8, 4), (256, 128, 128, 8, 4), (128, 128, 128, 4, 4))
_TF32 = tiles(
    (128, 256, 32, 8, 3), (128, 256, 32, 8, 4), (256, 128, 32, 8, 3), (256, 128, 32, 8, 4), (128, 128, 32, 8, 4), (128, 128, 32, 4, 4)
)  # fmt: skip


def _grid(m: int, n: int, c: Config) -> tuple[int]:
    return (-(-m // c["BLOCK_M"]) * -(-n // c["BLOCK_N"]),)


def _random(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    if dtype == torch.int8:
        return torch.randint(-128, 128, shape, device="cuda", dtype=torch.int32).to(dtype)
    return torch.randn(shape, device="cuda", dtype=torch.float32).to(dtype)


def _exact(a: torch.Tensor, b: torch.Tensor) -> list[torch.Tensor]:
    return [a.double() @ b.double()]


def matmul(
    name: str,
    size: int,
    dtype: torch.dtype,
    configs: Sequence[Config],
    *,
    out_dtype: torch.dtype | None = None,
    columns: bool = False,
    library: Callable[..., object] | None = None,
    **others: Any,
) -> Case:
    """Square matrices through pointers; with ``columns`` b is stored by columns (K-major)."""
    a, b = _random(size, size, dtype=dtype), _random(size, size, dtype=dtype)
    if columns:
        b = b.t()
    out = torch.empty(size, size, device="cuda", dtype=out_dtype or dtype)

    def run(m: Any, c: Config) -> object:
        strides = (*a.stride(), *b.stride(), *out.stride())
        return m.matmul[_grid(size, size, c)](a, b, out, size, size, size, *strides, GROUP_M=8, **c)

    return Case(
        name=f"matmul {name}",
        module="matmul",
        run=run,
        configs=configs,
        outputs=[out],
        oracle=lambda: _exact(a, b),
        library=lambda: library(a, b, out) if library else torch.mm(a, b, out=out),
        specialized=True,
        persistent=True,
        flops=2.0 * size**3,
        **others,
    )


def matmul_descriptor(size: int, dtype: torch.dtype) -> Case:
    """Square matrices through descriptors of the host."""
    a, b = (_random(size, size, dtype=dtype) for _ in range(2))
    out = torch.empty(size, size, device="cuda", dtype=dtype)

    def run(m: Any, c: Config) -> object:
        make = descriptor_of(m).from_tensor
        bm, bn, bk = c["BLOCK_M"], c["BLOCK_N"], c["BLOCK_K"]
        given = make(a, [bm, bk]), make(b, [bk, bn]), make(out, [bm, bn])
        return m.matmul_descriptor[_grid(size, size, c)](*given, size, size, size, GROUP_M=8, **c)

    return Case(
        name=f"matmul {size} f16, descriptors",
        module="matmul_descriptor",
        run=run,
        configs=_WIDE,
        outputs=[out],
        oracle=lambda: _exact(a, b),
        library=lambda: torch.mm(a, b, out=out),
        specialized=True,
        persistent=True,
        flops=2.0 * size**3,
    )


def scaled(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> object:
    """cuBLASLt on 8-bit floats."""
    one = torch.ones((), device="cuda")
    return torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=out.dtype, use_fast_accum=True)


def scaled_by_rows(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> object:
    """cuBLASLt, which reads ``b`` by columns alone: it is transposed first."""
    return scaled(a, b.t().contiguous().t(), out)


def grouped(groups: int, rows: int, size: int) -> Case:
    """``groups`` dots of [rows, size] and [size, size]; the library does them one after the other."""
    a = _random(groups * rows, size, dtype=torch.float16)
    b = _random(groups, size, size, dtype=torch.float16)
    out = torch.empty_like(a)
    starts = torch.arange(0, groups * rows + 1, rows, device="cuda", dtype=torch.int32)
    programs = torch.cuda.get_device_properties(0).multi_processor_count

    def run(m: Any, c: Config) -> object:
        strides = (a.stride(0), b.stride(0), b.stride(1), out.stride(0))
        return m.grouped_matmul[(programs,)](
            a, b, out, starts, groups, size, size, *strides, PROGRAMS=programs, **c
        )

    def exact() -> list[torch.Tensor]:
        parts = [a[g * rows : (g + 1) * rows].double() @ b[g].double() for g in range(groups)]
        return [torch.cat(parts)]

    def library() -> None:
        for g in range(groups):
            torch.mm(a[g * rows : (g + 1) * rows], b[g], out=out[g * rows : (g + 1) * rows])

    return Case(
        name=f"grouped {groups} x [{rows}, {size}] f16",
        module="grouped_matmul",
        run=run,
        configs=_WIDE,
        outputs=[out],
        oracle=exact,
        library=library,
        goal=1.1,
        against="triton",
        specialized=True,
        flops=2.0 * groups * rows * size**2,
    )


_F8 = torch.float8_e4m3fn
CASES: dict[str, Callable[[], Case]] = {
    "matmul_f16_8192": lambda: matmul("8192 f16", 8192, torch.float16, _WIDE),
    "matmul_descriptor_8192": lambda: matmul_descriptor(8192, torch.float16),
    "matmul_bf16_4096": lambda: matmul("4096 bf16", 4096, torch.bfloat16, _WIDE),
    "matmul_bf16_2048": lambda: matmul("2048 bf16", 2048, torch.bfloat16, _WIDE),
    "matmul_f8_8192": lambda: matmul(
        "8192 e4m3, K-major", 8192, _F8, _BYTES, out_dtype=torch.bfloat16, columns=True, library=scaled, bound=3e-2
    ),
    "matmul_tf32_4096": lambda: matmul(
        "4096 tf32", 4096, torch.float32, _TF32, goal=2.2, against="triton", bound=3e-3
    ),
    "matmul_i8_8192": lambda: matmul(
        "8192 int8, K-major", 8192, torch.int8, _BYTES, out_dtype=torch.int32, columns=True, library=lambda a, b, out: torch._int_mm(a, b), bound=0.0
    ),
    "matmul_f8_rows_8192": lambda: matmul(
        "8192 e4m3, row-major", 8192, _F8, _BYTES_BY_ROWS, out_dtype=torch.bfloat16, library=scaled_by_rows, goal=2.0, against="triton", bound=3e-2
    ),
    "matmul_i8_rows_8192": lambda: matmul(
        "8192 int8, row-major", 8192, torch.int8, _BYTES_BY_ROWS, out_dtype=torch.int32, library=lambda a, b, out: torch._int_mm(a, b), goal=2.0, against="triton", bound=0.0
    ),
    "grouped": lambda: grouped(8, 1024, 4096),
}  # fmt: skip
