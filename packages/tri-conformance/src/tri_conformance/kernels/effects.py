"""Kernels that print and that check."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def prints(numbers, fractions, M: tl.constexpr, N: tl.constexpr):
    """A block of two dimensions in each program, twice, and a number alone."""
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.device_print("number", tl.load(numbers + i))
    tl.device_print("fraction", tl.load(fractions + tl.arange(0, N)))
    tl.device_print("bits", tl.load(numbers + tl.arange(0, N)), hex=True)
    tl.device_print("alone", tl.program_id(0) + 40)


@tri.jit
def checks(out, x, limit, B: tl.constexpr):
    """x where all of its elements but every third are below a limit."""
    i = tl.arange(0, B)
    value = tl.load(x + i)
    tl.device_assert(value < limit, "too large", mask=i % 3 != 0)
    tl.store(out + i, tl.expect_zero(value, i >= B))
