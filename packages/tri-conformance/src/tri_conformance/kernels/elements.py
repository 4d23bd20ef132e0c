"""Kernels of one function of elements, masked: what lies behind ``n`` is left alone."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def map1(out, x, n, F: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    tl.store(out + i, F(tl.load(x + i, mask=inside, other=1)), mask=inside)


@tri.jit
def map2(out, x, y, n, F: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    a, b = tl.load(x + i, mask=inside, other=1), tl.load(y + i, mask=inside, other=1)
    tl.store(out + i, F(a, b), mask=inside)


@tri.jit
def map3(out, x, y, z, n, F: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    a, b = tl.load(x + i, mask=inside, other=1), tl.load(y + i, mask=inside, other=1)
    tl.store(out + i, F(a, b, tl.load(z + i, mask=inside, other=1)), mask=inside)


@tri.jit
def cast(out, x, n, ROUNDING: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, value.to(out.dtype.element_ty, fp_downcast_rounding=ROUNDING), mask=i < n)


@tri.jit
def bitcast(out, x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, value.to(out.dtype.element_ty, bitcast=True), mask=i < n)


@tri.jit
def add(a, b):
    return a + b


@tri.jit
def sub(a, b):
    return a - b


@tri.jit
def mul(a, b):
    return a * b


@tri.jit
def quotient(a, b):
    return a // b


@tri.jit
def remainder(a, b):
    return a % b


@tri.jit
def division(a, b):
    return a / b


@tri.jit
def both(a, b):
    return a & b


@tri.jit
def either(a, b):
    return a | b


@tri.jit
def differ(a, b):
    return a ^ b


@tri.jit
def left(a, b):
    return a << b


@tri.jit
def right(a, b):
    return a >> b


@tri.jit
def less(a, b):
    return a < b


@tri.jit
def less_equal(a, b):
    return a <= b


@tri.jit
def equal(a, b):
    return a == b


@tri.jit
def unequal(a, b):
    return a != b


@tri.jit
def greater(a, b):
    return a > b


@tri.jit
def greater_equal(a, b):
    return a >= b


@tri.jit
def negative(a):
    return -a


@tri.jit
def inverse(a):
    return ~a


@tri.jit
def choice(a, b, c):
    return tl.where(a > b, b, c)


@tri.jit
def bounded(a):
    return tl.clamp(a, -0.5, 0.75)


@tri.jit
def bounded_integers(a):
    return tl.clamp(a, 3, 100)


@tri.jit
def largest(a, b):
    return tl.maximum(a, b)


@tri.jit
def smallest(a, b):
    return tl.minimum(a, b)


@tri.jit
def largest_or_nan(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@tri.jit
def through_e4b15(out, x, N: tl.constexpr):
    """Numbers of two bytes by way of a byte with a bias of 15."""
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(tl.float8e4b15).to(tl.float16))
