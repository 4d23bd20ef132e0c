"""Kernels that read, write and update memory, and that branch and loop."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def copy(out, x, n, m, OTHER: tl.constexpr, B: tl.constexpr):
    """The first n of x, OTHER behind them, as far as m."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=OTHER), mask=i < m)


@tri.jit
def strided(out, x, n, STEP: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i * STEP, mask=i < n), mask=i < n)


@tri.jit
def scattered(out, x, index, B: tl.constexpr):
    i = tl.arange(0, B)
    at = tl.load(index + i)
    tl.store(out + at, tl.load(x + tl.load(index + at)))


@tri.jit
def transposed(out, x, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    block = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(out + n[:, None] * M + m[None, :], tl.trans(block))


@tri.jit
def tile(out, x, rows, columns, M: tl.constexpr, N: tl.constexpr):
    """A tile with masks of both axes, at the end of a matrix."""
    m, n = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    inside = (m[:, None] < rows) & (n[None, :] < columns)
    place = m[:, None] * columns + n[None, :]
    tl.store(out + place, tl.load(x + place, mask=inside, other=0), mask=inside)


@tri.jit
def update(out, old, x, index, KIND: tl.constexpr, B: tl.constexpr):
    """An atomic operation by most elements; those with a remainder of 3 leave memory alone."""
    i = tl.arange(0, B)
    place, value, mask = out + tl.load(index + i), tl.load(x + i), i % 5 != 3
    if KIND == "add":
        got = tl.atomic_add(place, value, mask)
    elif KIND == "max":
        got = tl.atomic_max(place, value, mask)
    elif KIND == "min":
        got = tl.atomic_min(place, value, mask)
    elif KIND == "and":
        got = tl.atomic_and(place, value, mask)
    elif KIND == "or":
        got = tl.atomic_or(place, value, mask)
    elif KIND == "xor":
        got = tl.atomic_xor(place, value, mask)
    else:
        got = tl.atomic_xchg(place, value, mask)
    tl.store(old + i, got, mask)


@tri.jit
def exchange(out, old, x, B: tl.constexpr):
    i = tl.arange(0, B)
    value = tl.load(x + i)
    tl.store(old + i, tl.atomic_cas(out + i, value, value + 1))


@tri.jit
def steps(out, n, B: tl.constexpr):
    """A while loop, a branch in it, and a loop whose length depends on them."""
    value = tl.program_id(0) + 1
    count = 0
    while value != 1:
        if value % 2 == 0:  # noqa: SIM108  a branch is meant
            value = value // 2
        else:
            value = 3 * value + 1
        count += 1
    total = tl.zeros([B], tl.int32)
    for i in range(0, count, 2):
        total += i
    tl.store(out + tl.program_id(0) * B + tl.arange(0, B), total + count, mask=tl.program_id(0) < n)


@tri.jit
def carried(out, x, n, M: tl.constexpr, N: tl.constexpr):
    """A loop that carries a block through reductions and broadcasts."""
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x + i)
    total = tl.zeros([M, N], value.dtype)
    for k in range(n):
        row = tl.sum(value, 1)
        value = tl.where(value > k, value - 1, value + 1)
        total += value + row[:, None]
    tl.store(out + i, total)


@tri.jit
def random(out, seed, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.randint(seed, i))


@tri.jit
def described(out, x, rows, columns, M: tl.constexpr, N: tl.constexpr):
    """Tiles through descriptors: what lies outside of the matrix is read as 0 and not written."""
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [M, N])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [M, N])
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    target.store([m, n], source.load([m, n]))


@tri.jit
def blocked(out, x, rows, columns, M: tl.constexpr, N: tl.constexpr):
    """Tiles through block pointers, with checks of both axes."""
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    source = tl.make_block_ptr(x, (rows, columns), (columns, 1), (m, n), (M, N), (1, 0))
    target = tl.make_block_ptr(out, (rows, columns), (columns, 1), (m, n), (M, N), (1, 0))
    tl.store(target, tl.load(source, boundary_check=(0, 1), padding_option="zero"), boundary_check=(0, 1))
