"""torchao: matrices in eight-bit integers."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from integration.published.cases import Bench, Check, case

_NAME = "torchao"


@case(_NAME, "int8_matmul_scaled", "int8 GEMM")
def int8_matmul_scaled(bench: Bench) -> Iterable[Check]:
    """Dots of int8 added in int32, plain, and with a scale for each row by pointers that are broadcast along it."""
    import triton

    kernels = _NAME + ".kernel.intmm_triton"
    rows, columns, depth = 192, 128, 256
    a, b = ((bench.randint(255, size, depth) - 127).to(torch.int8) for size in (rows, columns))
    scales = bench.randn(rows, 1)
    config = triton.Config(
        {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64, "GROUP_M": 8}, num_stages=2, num_warps=4
    )
    exact = a.cpu().double() @ b.cpu().double().T
    out = torch.zeros(rows, columns, dtype=torch.int32, device=bench.device)
    yield Check("plain", bench.load(_NAME, kernels).int_matmul_kernel(a, b.t(), out, config), exact, 0.0)
    out = torch.zeros(rows, columns, device=bench.device)
    scaled = bench.load(_NAME, kernels).int_scaled_matmul_kernel
    found = scaled(a, b.t(), scales.expand(rows, columns), out, config)
    yield Check("scaled", found, exact * scales.cpu().double(), 1e-6)
