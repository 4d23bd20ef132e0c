"""Kernels that launches good and bad are made of."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def inc(x, n, B: tl.constexpr = 8):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


@tri.jit
def narrow(x, n: tl.int8, f: tl.float32 = 1.0):
    tl.store(x, n + f)


@tri.jit
def pairs(x, pair):
    tl.store(x, pair[0] + pair[1])


@tri.jit
def pointers(x: "*fp32", n):  # noqa: F722
    tl.store(x, n)


@tri.jit
def assembled(x, ASM: tl.constexpr):
    i = tl.arange(0, 8)
    value = tl.inline_asm_elementwise(ASM, "=r,r", [tl.load(x + i)], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x + i, value)
