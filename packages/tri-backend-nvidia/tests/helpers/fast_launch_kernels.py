"""Small kernels whose launches are looked at, not their results."""

from __future__ import annotations

import tri
import tri.language as tl

SHIFT = tl.constexpr(3)


@tri.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


@tri.jit
def scalars(
    out, i, f, flag, nothing, wide: tl.int64, real: tl.float64, word: tl.constexpr, ratio: tl.constexpr = 0.5
):
    value = i + wide + f + real + ratio
    if flag:
        value += 1
    if nothing is None:
        value += 2
    tl.store(out, value if word == "a" else -value)


@tri.jit(do_not_specialize=["n"])
def plain(out, n):
    tl.store(out, n)


@tri.jit
def shifted(out):
    tl.store(out, SHIFT)


@tri.jit
def matmul(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, first, second, B: tl.constexpr):
    """Eleven ints, as dots have them."""
    at = tl.arange(0, B)
    tl.store(
        c + at * scm + scn,
        tl.load(a + at * sam + sak) + tl.load(b + at * sbk + sbn) + M + N + K + first + second,
    )


@tri.jit
def described(x, y, n):
    """Descriptors as arguments."""
    total = tl.sum(tl.sum(x.load([16, n]), 1), 0)
    y.store([0, 16], tl.full(y.block_shape, 1.0, tl.float32).to(y.dtype) * total.to(y.dtype))


@tri.jit
def tuned(out, NUMBER: tl.constexpr):
    tl.store(out, NUMBER)
