"""Operators of operands of two types, and of a block and a plain scalar: each result has the type that promotion gives."""

from __future__ import annotations

import tri
import tri.language as tl
from tri_conformance.kernels.blocks import put


@tri.jit
def mixed(outs, x, ys, F: tl.constexpr, RESULTS: tl.constexpr, N: tl.constexpr):
    """Every result of ``F`` of x and each of ys, in the order of outs."""
    i = tl.arange(0, N)
    a = tl.load(x + i)
    for k in tl.static_range(len(ys)):
        made = F(a, tl.load(ys[k] + i))
        for r in tl.static_range(RESULTS):
            put(outs[k * RESULTS + r], made[r], N)


@tri.jit
def of_scalars(outs, x, F: tl.constexpr, RESULTS: tl.constexpr, N: tl.constexpr):
    """Every result of ``F`` of x alone."""
    made = F(tl.load(x + tl.arange(0, N)))
    for r in tl.static_range(RESULTS):
        put(outs[r], made[r], N)


@tri.jit
def arithmetic(a, b):
    return a + b, a - b, a * b


@tri.jit
def bits(a, b):
    return a & b, a | b, a ^ b


@tri.jit
def shifts(a, b):
    return a << b, a >> b


@tri.jit
def quotients(a, b):
    return a // b, a % b


@tri.jit
def division(a, b):
    return (a / b,)


@tri.jit
def float_remainder(a, b):
    return (a % b,)


@tri.jit
def comparisons(a, b):
    return a < b, a <= b, a == b, a != b, a > b, a >= b


@tri.jit
def choices(a, b):
    return tl.where(a > b, a, b), tl.maximum(a, b), tl.minimum(a, b)


@tri.jit
def clamped(a, b):
    return (tl.clamp(a, 1, b),)


@tri.jit
def fused(a, b):
    return tl.fma(a, b, 1.5), tl.fma(2, a, b)


@tri.jit
def integer_scalars(a):
    """A smaller kind of scalar takes the block's type, a larger one decides."""
    return (
        a + 3, 3 + a, a - 3, 100 - a, a * 3, 3 * a, a // 3, 100 // a, a % 3, 100 % a, a & 5, 5 & a, a | 5, 5 | a, a ^ 5, 5 ^ a,
        a << 1, 3 << (a & 3), a >> 1, 100 >> (a & 3), -a, ~a, tl.cdiv(a & 63, 5), a + 0.5, 0.5 - a, tl.add(a, 3), tl.sub(a, 3),
        tl.mul(a, 3), tl.abs(a), a < 3, 3 < a, a == True,  # noqa: E712, SIM300  a scalar on the left is meant, and a boolean one is the least kind
    )  # fmt: skip


@tri.jit
def float_scalars(a):
    return (
        a + 3, 3 + a, a - 2.5, 2.5 - a, a * 0.5, 2 * a, -a, tl.abs(a), tl.add(a, 3), tl.sub(a, 3), tl.mul(a, 3), a < 0.5,
        tl.maximum(a, 0.5), tl.minimum(0.5, a), tl.where(a > 0, a, 1),
    )  # fmt: skip


@tri.jit
def scalar_division(a):
    return 8 / a, a / 3, 2.5 / a
