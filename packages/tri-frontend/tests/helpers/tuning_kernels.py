"""Kernels of the tests of tuning, hooks and explanations; functions, so that each test has kernels of its own."""

from __future__ import annotations

from typing import Any

import tri
import tri.language as tl


def scale_kernel() -> Any:
    """``y = 2 * x`` over blocks of BLOCK."""

    @tri.jit
    def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + i, 2 * tl.load(x_ptr + i, mask=i < n), mask=i < n)

    return scale


def accumulate_kernel() -> Any:
    """``y += x``: what it leaves depends on how often it ran."""

    @tri.jit
    def accumulate(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + i, tl.load(y_ptr + i, mask=i < n) + tl.load(x_ptr + i, mask=i < n), mask=i < n)

    return accumulate


def grid(meta: dict[str, Any]) -> tuple[int]:
    """One program per block."""
    return (tri.cdiv(meta["n"], meta["BLOCK"]),)
