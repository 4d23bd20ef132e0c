"""Integers without a sign from half of their range on: the interpreter and compiled kernels read them alike."""

from __future__ import annotations

import numpy as np
import pytest

import tri
import tri.language as tl


@tri.jit
def gathered(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(o + i, tl.gather(i * 3, v, 0))


@tri.jit
def counted(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.histogram(tl.load(x + i), B))


@tri.jit
def pointed(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + tl.load(x + i), i)


@tri.jit
def reduced(x, o, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, B))
    tl.store(o, tl.max(v, 0).to(tl.int64))
    tl.store(o + 1, tl.min(v, 0).to(tl.int64))
    tl.store(o + 2, tl.argmax(v, 0).to(tl.int64))
    tl.store(o + 3, tl.sum(v, 0).to(tl.int64))


@tri.jit
def ordered(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.sort(tl.load(x + i)).to(tl.int64))


@tri.jit
def added_up(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.cumsum(tl.load(x + i), 0).to(tl.int64))


@tri.jit
def looped(x, o, B: tl.constexpr):
    total = 0
    for k in range(tl.load(x + 200)):
        total += k.to(tl.int32)
    tl.store(o, total)
    if tl.load(x + 255) > 128:
        tl.store(o + 1, 1)


@tri.jit
def computed(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    w = (B - 1 - i).to(v.dtype)
    r = (v // (w | 1)) + (v % (w | 1)) + (v >> 1) + tl.minimum(v, w) - tl.maximum(v, w)
    r = tl.where(v < w, r, v) ^ tl.abs(v)
    tl.store(o + i, r.to(tl.int64) + v.to(tl.float32).to(tl.int64) + tl.clamp(v, 100, 200).to(tl.int64))


KERNELS = [gathered, counted, pointed, reduced, ordered, added_up, looped, computed]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64], ids=lambda d: d.__name__)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_the_interpreter_agrees_with_a_compiled_kernel(kernel, dtype) -> None:
    x = np.random.default_rng(3).permutation(256)
    for place, value in ((200, 210), (255, 255)):
        (other,) = np.flatnonzero(x == value)
        x[place], x[other] = x[other], x[place]
    x = x.astype(dtype)
    made = []
    for target in ("cpu", "interpreter"):
        o = np.full(256, -1, np.int64 if kernel is not pointed else np.int32)
        with tri.interpret() if target == "interpreter" else tri.target(target):
            kernel[(1,)](x, o, 256)
        made.append(o)
    np.testing.assert_array_equal(*made)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64], ids=lambda d: d.__name__)
@pytest.mark.parametrize("target", ["interpreter", "cpu", "sim:nvidia:sm_80", "sim:amd:gfx942"])
def test_negative_numbers_are_in_no_bin(target, dtype) -> None:
    """Nor in that of the number which has their bits without a sign."""
    x = np.tile(np.array([np.iinfo(dtype).min, -1, -3, 5], dtype), 64)
    o = np.full(256, -1, np.int32)
    with tri.interpret() if target == "interpreter" else tri.target(target):
        counted[(1,)](x, o, 256)
    np.testing.assert_array_equal(o, np.bincount([5] * 64, minlength=256))
