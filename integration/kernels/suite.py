"""Kernels of the tests on devices: small, each for one part of the language."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def reduce_rows(out, x, M: tl.constexpr, N: tl.constexpr, KIND: tl.constexpr, AXIS: tl.constexpr):
    """One block of x reduced along AXIS."""
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    block = tl.load(x + rows[:, None] * N + columns[None, :])
    if KIND == "sum":
        made = tl.sum(block, axis=AXIS)
    elif KIND == "max":
        made = tl.max(block, axis=AXIS)
    elif KIND == "min":
        made = tl.min(block, axis=AXIS)
    elif KIND == "argmax":
        made = tl.argmax(block, axis=AXIS)
    else:
        made = tl.xor_sum(block, axis=AXIS)
    tl.store(out + (columns if AXIS == 0 else rows), made)


@tri.jit
def _combine(a_mean, a_m2, a_n, b_mean, b_m2, b_n):
    """Mean, sum of squared deviations and count of two samples together."""
    n = a_n + b_n
    delta = b_mean - a_mean
    share = tl.where(n == 0.0, 0.0, b_n / n)
    return a_mean + delta * share, a_m2 + b_m2 + delta * delta * a_n * share, n


@tri.jit
def moments(out, x, N: tl.constexpr):
    """Mean and variance of x."""
    values = tl.load(x + tl.arange(0, N))
    mean, m2, n = tl.reduce((values, tl.zeros([N], tl.float32), tl.full([N], 1.0, tl.float32)), 0, _combine)
    tl.store(out, mean)
    tl.store(out + 1, m2 / n)


@tri.jit
def scan(out, x, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    """Cumulative sums of one block."""
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + place, tl.cumsum(tl.load(x + place), axis=AXIS, reverse=REVERSE))


@tri.jit
def matmul(c, a, b, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """One block of a times one of b."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + m[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(left, right))


@tri.jit
def transpose(out, x, M: tl.constexpr, N: tl.constexpr):
    """One block, its axes exchanged."""
    m, n = tl.arange(0, M), tl.arange(0, N)
    block = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(out + n[:, None] * M + m[None, :], tl.trans(block))


@tri.jit
def shapes(out, x, N: tl.constexpr):
    """Neighbours exchanged; the whole reversed."""
    values = tl.load(x + tl.arange(0, N))
    pairs = tl.reshape(values, (N // 2, 2))
    even, odd = tl.split(pairs)
    swapped = tl.reshape(tl.join(odd, even), (N,))
    tl.store(out + tl.arange(0, N), swapped)
    tl.store(out + N + tl.arange(0, N), tl.flip(values, 0))


@tri.jit
def gathers(out, x, indices, N: tl.constexpr, M: tl.constexpr):
    """x at indices."""
    source = tl.load(x + tl.arange(0, N))
    tl.store(out + tl.arange(0, M), tl.gather(source, tl.load(indices + tl.arange(0, M)), 0))


@tri.jit
def counts(out, x, N: tl.constexpr, BINS: tl.constexpr):
    """A histogram of x."""
    tl.store(out + tl.arange(0, BINS), tl.histogram(tl.load(x + tl.arange(0, N)), BINS))


@tri.jit
def masked_copy(out, x, n, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    """The first n elements of x, and OTHER behind them."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n, other=OTHER), mask=offsets < n + 3)


@tri.jit
def add_atomically(out, x, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """Elements of x added up by their index modulo BINS."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n)
    tl.atomic_add(out + offsets % BINS, values, mask=offsets < n)


@tri.jit
def extremes(out, x, n, BLOCK: tl.constexpr):
    """The largest and smallest of x and 0."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0)
    tl.atomic_max(out, tl.max(values, axis=0))
    tl.atomic_min(out + 1, tl.min(values, axis=0))


@tri.jit
def spin(lock, total, rounds):
    """Rounds of taking and giving back a lock."""
    for _ in range(rounds):
        while tl.atomic_cas(lock, 0, 1) == 1:
            pass
        tl.store(total, tl.load(total) + 1)
        tl.atomic_xchg(lock, 0)


@tri.jit
def convert(out, x, TO: tl.constexpr, BLOCK: tl.constexpr):
    """x in another type."""
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets).to(TO))


@tri.jit
def evaluate(out, x, NAME: tl.constexpr, BLOCK: tl.constexpr):
    """A function of x."""
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets)
    if NAME == "exp":
        made = tl.exp(values)
    elif NAME == "exp2":
        made = tl.exp2(values)
    elif NAME == "log":
        made = tl.log(values)
    elif NAME == "sin":
        made = tl.sin(values)
    elif NAME == "cos":
        made = tl.cos(values)
    elif NAME == "sqrt":
        made = tl.sqrt(values)
    elif NAME == "rsqrt":
        made = tl.rsqrt(values)
    elif NAME == "erf":
        made = tl.erf(values)
    elif NAME == "floor":
        made = tl.floor(values)
    else:
        made = tl.sqrt_rn(values)
    tl.store(out + offsets, made)


@tri.jit
def arithmetic(out, x, y, BLOCK: tl.constexpr):
    """Quotients, remainders, bits, choices, high products of integers."""
    offsets = tl.arange(0, BLOCK)
    a, b = tl.load(x + offsets), tl.load(y + offsets)
    tl.store(out + offsets, a // b)
    tl.store(out + BLOCK + offsets, a % b)
    tl.store(out + 2 * BLOCK + offsets, (a << 3) ^ (b >> 1) | (a & b))
    tl.store(out + 3 * BLOCK + offsets, tl.where(a > b, tl.maximum(a, -b), tl.minimum(a, b)))
    tl.store(out + 4 * BLOCK + offsets, tl.umulhi(a.to(tl.uint32), b.to(tl.uint32)).to(tl.int32))


@tri.jit
def collatz(out, n, BLOCK: tl.constexpr):
    """Steps of a sequence, in a while loop, and sums over a loop whose length depends on it."""
    program = tl.program_id(0)
    value = program + 1
    steps = 0
    while value != 1:
        if value % 2 == 0:  # noqa: SIM108  a branch is meant
            value = value // 2
        else:
            value = 3 * value + 1
        steps += 1
    totals = tl.zeros([BLOCK], tl.int32)
    for i in range(0, steps, 2):
        totals += i
    tl.store(out + program * BLOCK + tl.arange(0, BLOCK), totals + steps, mask=program < n)


@tri.jit
def shifted(out, x, first, n, BLOCK: tl.constexpr, UP: tl.constexpr):
    """Two thirds of x; UP reads at the offsets, otherwise first elements before."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (offsets < n) & (offsets % 3 != 1)
    if UP:
        values = tl.load(x + offsets, mask=mask, other=7.0)
    else:
        values = tl.load(x + (offsets - first), mask=mask & (offsets >= first), other=7.0)
    tl.store(out + offsets, values, mask=offsets < n)


@tri.jit
def smaller_transposed(out, x, y, M: tl.constexpr, N: tl.constexpr):
    """Comparison x < y, loaded by columns and stored by rows: truth values change their layout."""
    m, n = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    smaller = tl.load(x + m + n * M) < tl.load(y + m + n * M)
    tl.store(out + m * N + n, smaller.to(tl.int8))
