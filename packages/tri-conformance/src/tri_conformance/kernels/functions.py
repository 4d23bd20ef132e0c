"""Kernels of one function of one to four operands, each of a type of its own."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def of_one(out, a, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, F(tl.load(a + i)))


@tri.jit
def of_two(out, a, b, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, F(tl.load(a + i), tl.load(b + i)))


@tri.jit
def of_three(out, a, b, c, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, F(tl.load(a + i), tl.load(b + i), tl.load(c + i)))


@tri.jit
def of_four(out, a, b, c, d, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, F(tl.load(a + i), tl.load(b + i), tl.load(c + i), tl.load(d + i)))
