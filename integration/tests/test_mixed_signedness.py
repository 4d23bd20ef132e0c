"""Operators on integers of two types, and scans of narrow ones, against NumPy on every target that runs here."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl

TARGETS = ["cpu", "interpreter", "sim:nvidia:sm_80", "sim:amd:gfx942", "sim:intel:pvc"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
N = 32


def on(target: str) -> AbstractContextManager[Any]:
    return tri.interpret() if target == "interpreter" else tri.target(target)


def numbers(dtype: str, seed: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    made = np.random.default_rng(seed).integers(limits.min, limits.max, N, dtype=dtype, endpoint=True)
    made[:4] = limits.min, limits.max, 0, 1
    return made


def common(x: str, y: str) -> np.dtype:
    """Triton's type of an operation on two integer types: the wider; unsigned when that is as wide."""
    a, b = np.dtype(x), np.dtype(y)
    if a.kind == b.kind:
        return a if a.itemsize >= b.itemsize else b
    unsigned, signed = (a, b) if a.kind == "u" else (b, a)
    return unsigned if unsigned.itemsize >= signed.itemsize else signed


@tri.jit
def shifts(x_ptr, y_ptr, out_ptr, by_ptr, of_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(out_ptr + i, x >> y)
    tl.store(by_ptr + i, x >> 3)
    tl.store(of_ptr + i, 100 >> y)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("y_type", INTEGERS)
@pytest.mark.parametrize("x_type", ["int8", "int32", "int64", "uint8", "uint32"])
def test_the_left_operand_says_whether_a_shift_keeps_the_sign(x_type: str, y_type: str, target: str) -> None:
    type_ = common(x_type, y_type)
    width = 8 * min(np.dtype(x_type).itemsize, np.dtype(y_type).itemsize)
    x, y = numbers(x_type, 1), (numbers(y_type, 2) % width).astype(y_type)
    out, by, of = (np.zeros(N, t) for t in (type_, x_type, y_type))
    with on(target):
        shifts[(1,)](x, y, out, by, of, N=N)
    wide = x.astype(type_)  # sign-extended when x is signed, whatever type_ is
    signed = wide.view(f"i{type_.itemsize}") if x.dtype.kind == "i" else wide.view(f"u{type_.itemsize}")
    np.testing.assert_array_equal(out, (signed >> y.astype(signed.dtype)).view(type_))
    np.testing.assert_array_equal(by, x >> np.array(3, x_type))
    np.testing.assert_array_equal(of, np.array(100, y_type) >> y)


@tri.jit
def scans(x_ptr, sum_ptr, matmul_ptr, back_ptr, IS_MASK: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    if IS_MASK:
        x = x > 0
    tl.store(sum_ptr + i, tl.cumsum(x, 0))
    tl.store(matmul_ptr + i, tl.cumprod(x, 0))
    tl.store(back_ptr + i, tl.cumsum(x, 0, reverse=True))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
def test_scans_of_narrow_integers_are_done_in_32_bits(dtype: str, target: str) -> None:
    x = numbers("int8" if dtype == "bool" else dtype, 3)
    summed = (x > 0).astype("u4") if dtype == "bool" else x
    wide = np.promote_types(summed.dtype, f"{summed.dtype.kind}4")
    total, matmul, back = (np.zeros(N, wide) for _ in range(3))
    with on(target):
        scans[(1,)](x, total, matmul, back, IS_MASK=dtype == "bool", N=N)
    np.testing.assert_array_equal(total, np.cumsum(summed, dtype=wide))
    np.testing.assert_array_equal(matmul, np.cumprod(summed, dtype=wide))
    np.testing.assert_array_equal(back, np.cumsum(summed[::-1], dtype=wide)[::-1])
