"""Kernels that are unrolled to any size: what the compiler's time is measured against."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def elementwise(x, out, COUNT: tl.constexpr):
    """``COUNT`` steps of arithmetic on one tensor."""
    at = tl.arange(0, 256)
    value = tl.load(x + at)
    for i in tl.static_range(COUNT):
        value = tl.where(value > i, value * 0.5 + i, value - 1.0)
    tl.store(out + at, value)


@tri.jit
def accesses(x, out, COUNT: tl.constexpr):
    """``COUNT`` masked loads and stores."""
    at = tl.arange(0, 256)
    for i in tl.static_range(COUNT):
        tl.store(out + i * 256 + at, tl.load(x + i * 256 + at, mask=at < 250 - i, other=0.0), mask=at < 251)


@tri.jit
def dots(x, out, COUNT: tl.constexpr):
    """``COUNT`` dots, each of the one before."""
    at = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    total = tl.zeros((32, 32), tl.float32)
    for i in tl.static_range(COUNT):
        left = tl.load(x + i * 1024 + at)
        total = tl.dot(left, total.to(tl.float16), total)
    tl.store(out + at, total)


@tri.jit
def loops(x, out, n, COUNT: tl.constexpr):
    """``COUNT`` loops of a dot each, one after the other."""
    at = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    total = tl.zeros((32, 32), tl.float32)
    for i in tl.static_range(COUNT):
        for k in range(n):
            pointers = x + (i + k) * 1024 + at
            total = tl.dot(tl.load(pointers), tl.load(pointers + 1024), total)
    tl.store(out + at, total)


@tri.jit
def layouts(x, out, COUNT: tl.constexpr):
    """``COUNT`` reductions, broadcasts and transposes: every step wants another layout."""
    at = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    value = tl.load(x + at)
    for i in tl.static_range(COUNT):
        value = tl.trans(value) + tl.sum(value, i % 2)[None, :]
    tl.store(out + at, value)


@tri.jit
def branches(x, out, n, COUNT: tl.constexpr):
    """``COUNT`` conditions at run time around a reduction."""
    at = tl.arange(0, 256)
    value = tl.load(x + at)
    for i in tl.static_range(COUNT):
        if n > i:
            value += tl.sum(value, 0)
        else:
            value -= 1.0
    tl.store(out + at, value)
