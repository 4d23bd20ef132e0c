"""Kernels that memory bounds."""

from __future__ import annotations

from collections.abc import Callable

import torch

from integration.bench_gpu.case import Case

__all__ = ["CASES"]


def _random(*shape: int) -> torch.Tensor:
    return torch.randn(shape, device="cuda", dtype=torch.float32)


def vector_add(n: int) -> Case:
    """Two vectors of f32."""
    x, y = _random(n), _random(n)
    out = torch.empty_like(x)
    return Case(
        name=f"vector add {n} f32",
        module="vector_add",
        run=lambda m, c: m.vector_add[(-(-n // c["BLOCK"]),)](x, y, out, n, **c),
        configs=[{"BLOCK": 1024, "num_warps": 4}, {"BLOCK": 2048, "num_warps": 8}],
        outputs=[out],
        oracle=lambda: [x.double() + y.double()],
        library=lambda: torch.add(x, y, out=out),
        against="triton",
        bound=1e-6,
        nbytes=3 * 4 * n,
    )


def softmax(rows: int, columns: int, warps: tuple[int, ...]) -> Case:
    """Rows of f32."""
    x = _random(rows, columns)
    out = torch.empty_like(x)
    block = 1 << (columns - 1).bit_length()
    return Case(
        name=f"softmax {rows}x{columns} f32",
        module="softmax",
        run=lambda m, c: m.softmax[(rows,)](out, x, x.stride(0), out.stride(0), columns, BLOCK=block, **c),
        configs=[{"num_warps": w} for w in warps],
        outputs=[out],
        oracle=lambda: [torch.softmax(x.double(), 1)],
        library=lambda: torch.softmax(x, 1),
        against="triton",
        bound=1e-5,
        nbytes=2 * 4 * x.numel(),
    )


def layernorm(rows: int, columns: int) -> Case:
    """Rows of f32, in blocks."""
    x, w, b = _random(rows, columns), _random(columns), _random(columns)
    out = torch.empty_like(x)
    return Case(
        name=f"layernorm {rows}x{columns} f32",
        module="layernorm",
        run=lambda m, c: m.layernorm[(rows,)](out, x, w, b, x.stride(0), columns, 1e-5, **c),
        configs=[{"BLOCK": n, "num_warps": k} for n, k in ((2048, 8), (8192, 8), (8192, 16))],
        outputs=[out],
        oracle=lambda: [torch.layer_norm(x.double(), (columns,), w.double(), b.double(), 1e-5)],
        library=lambda: torch.layer_norm(x, (columns,), w, b, 1e-5),
        against="triton",
        bound=1e-5,
        nbytes=2 * 4 * x.numel(),
    )


CASES: dict[str, Callable[[], Case]] = {
    "vector_add": lambda: vector_add(1 << 28),
    "softmax_4096": lambda: softmax(16384, 4096, (4, 8)),
    "softmax_32768": lambda: softmax(4096, 32768, (16, 32)),
    "layernorm_8192": lambda: layernorm(8192, 8192),
}
