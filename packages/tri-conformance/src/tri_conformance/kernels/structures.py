"""Kernels of values that are made of several: tuples, aggregates; and what is computed while compiling."""

from __future__ import annotations

from typing import Any, NamedTuple

import tri
import tri.language as tl


class View(NamedTuple):
    """An array and how many of its elements count."""

    pointer: Any
    count: Any


@tri.aggregate
class Interval:
    """Two bounds; ``grown`` times as wide."""

    low: tl.tensor
    high: tl.tensor
    times: tl.constexpr

    @tri.jit
    def width(self):
        """The distance of the bounds, times the factor."""
        return (self.high - self.low) * self.times

    @tri.jit
    def __add__(self, other):
        return Interval(self.low + other.low, self.high + other.high, self.times)


@tri.constexpr_function
def powers(base, count):
    """``base`` to the powers of 0 to ``count`` - 1."""
    return tuple(base**i for i in range(count))


@tri.jit
def aggregates(out, x, y, B: tl.constexpr):
    """An aggregate as a loop's value, changed by its operator and by aggregate_replace."""
    i = tl.arange(0, B)
    a, b = tl.load(x + i), tl.load(y + i)
    step = Interval(a, b, 1)
    found = Interval(a, b, 3)
    for _ in range(3):
        found = found + step
    found = tl.aggregate_replace(found, low=found.low - 1)
    tl.store(out + i, found.width())


@tri.jit
def _swapped(pair):
    return pair[1], pair[0]


@tri.jit
def tuples(out, views, scale, B: tl.constexpr):
    """Tuples of arrays and numbers from the host, swapped in a loop, in a static one, and sliced."""
    i = tl.arange(0, B)
    first, second = views
    pair = tl.tuple((
        tl.load(first.pointer + i, mask=i < first.count, other=0),
        tl.load(second.pointer + i, mask=i < second.count, other=0),
    ))  # fmt: skip
    for _ in range(3):
        pair = _swapped(pair)
    total = tl.zeros([B], tl.int32)
    for k in tl.static_range(len(pair)):
        total += (k + 1) * pair[k]
    tl.store(out + i, total * scale[0] + scale[1:][0])


@tri.jit
def constants(out, x, B: tl.constexpr):
    """A polynomial whose coefficients a constexpr function gives."""
    FACTORS: tl.constexpr = powers(3, 4)
    tl.static_assert(len(FACTORS) == 4, "four coefficients")
    tl.static_print("", end="")
    i = tl.arange(0, B)
    value = tl.load(x + i)
    total = tl.zeros_like(value)
    for k in tl.static_range(4):
        total = total * value + FACTORS[3 - k]
    tl.store(out + i, total)


@tri.jit
def _branching(x, y):
    if x > 0:
        made = x * 2 if y > x else x + y
    else:
        made = y
        while made > 3:
            made = made // 2
    return made, x > y


@tri.jit
def mapped(out, larger, x, y, SHAPE: tl.constexpr, N: tl.constexpr):
    """A function of scalars that branches and loops, for each element."""
    a = tl.reshape(tl.load(x + tl.arange(0, N)), SHAPE)
    b = tl.reshape(tl.load(y + tl.arange(0, N)), SHAPE)
    made, truth = tl.map_elementwise(_branching, a, b)
    tl.store(out + tl.arange(0, N), tl.reshape(made, (N,)))
    tl.store(larger + tl.arange(0, N), tl.reshape(truth, (N,)))


@tri.jit
def _both_plus_one(a, b):
    return a + 1, b + 1


@tri.jit
def mapped_packs(out, x, N: tl.constexpr):
    """Two elements at a time; which two is the target's choice, so the function treats them alike."""
    i = tl.arange(0, N)
    tl.store(out + i, tl.map_elementwise(_both_plus_one, tl.load(x + i), pack=2)[0])


@tri.jit
def loops(out, x, n, B: tl.constexpr):
    """Loops with hints: none changes what they compute."""
    i = tl.arange(0, B)
    total = tl.zeros([B], tl.int32)
    for k in tl.range(0, n, 3, num_stages=3):
        total += tl.load(x + k * B + i)
    for k in tl.range(n - 1, -1, -2, loop_unroll_factor=2, disable_licm=True):
        total += k * tl.load(x + k * B + i)
    for k in tl.range(n, flatten=True, disallow_acc_multi_buffer=True):
        total = total ^ k
    rounds = 0
    while tl.condition(rounds < n, disable_licm=True):
        rounds += 2
    tl.store(out + i, total + rounds)


@tri.jit
def hints(out, x, n, B: tl.constexpr):
    """Hints of a kernel to the compiler, all of them true."""
    tl.assume(n >= B)
    i = tl.max_contiguous(tl.multiple_of(tl.arange(0, B), B), B)
    row = tl.max_constancy(i // 16, 16)
    value = tl.expect_zero(tl.load(x + i), i >= n)
    tl.debug_barrier()
    tl.store(out + i, value + row)


@tri.jit
def assembled(out, x, TEXT: tl.constexpr, CONSTRAINTS: tl.constexpr, PACK: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    value = tl.load(x + i)
    tl.store(out + i, tl.inline_asm_elementwise(TEXT, CONSTRAINTS, [value], value.dtype, True, PACK))


@tri.jit
def about_the_target(out, NAME: tl.constexpr):
    """1 where the target is of the backend NAME."""
    tl.store(out, tl.target_info.current_target().backend == NAME)
