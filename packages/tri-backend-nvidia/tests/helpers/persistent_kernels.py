"""Kernels whose programs may follow each other in one CTA, and some that may not."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def places(out, X, Y, LEN: tl.constexpr):
    """Each program writes which one it is, and of how many, at its place in the grid."""
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    row = (z * Y + y) * X + x
    numbers = tl.arange(0, LEN)
    sizes = tl.num_programs(0) + 100 * tl.num_programs(1) + 10000 * tl.num_programs(2)
    tl.store(out + row * LEN + numbers, x + 100 * y + 10000 * z + 1000000 * sizes * (numbers == 1))


@tri.jit
def sums(x, out, N, BLOCK: tl.constexpr):
    """The sum of a row, a program per row: scratch memory that the next program uses again."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + row * N + at, mask=at < N, other=0.0), 0)
    spread = tl.load(x + row * N + at, mask=at < N, other=0.0) / total
    tl.store(out + row * N + at, tl.cumsum(spread, 0), mask=at < N)


@tri.jit
def single(a, b, c, N, B: tl.constexpr):
    """A dot in one step: without a loop of its own."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, B)
    left = tl.load(a + rows[:, None] * B + columns[None, :])
    right = tl.load(b + columns[:, None] * N + (tl.program_id(1) * B + columns)[None, :])
    at = c + rows[:, None] * N + (tl.program_id(1) * B + columns)[None, :]
    tl.store(at, tl.dot(left, right).to(tl.float16))


@tri.jit
def early(x, n):
    """Ends early, for some programs."""
    if tl.program_id(0) >= n:
        return
    tl.store(x + tl.program_id(0), 1)


@tri.jit
def counted(x):
    """Tells other programs something."""
    tl.atomic_add(x, 1)
