"""What ops of the interpreter compute, bit for bit, against oracles of wider arithmetic."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tri
import tri.language as tl
from tri.interpreter.floats import fma, narrow, product_sum, tf32
from tri.language import types as t

FLOATS = {
    "fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp8e4nv": ml_dtypes.float8_e4m3fn, "fp8e5": ml_dtypes.float8_e5m2,
    "fp8e4b8": ml_dtypes.float8_e4m3fnuz, "fp8e5b16": ml_dtypes.float8_e5m2fnuz,
}  # fmt: skip
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


# --- integers -------------------------------------------------------------------------------------------


@tri.jit
def integers(out, flags, x, y, SHIFT: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, a + b)
    tl.store(out + B + i, a - b)
    tl.store(out + 2 * B + i, a * b)
    tl.store(out + 3 * B + i, a // b)
    tl.store(out + 4 * B + i, a % b)
    tl.store(out + 5 * B + i, (a & b) | (a ^ ~b))
    tl.store(out + 6 * B + i, a << SHIFT)
    tl.store(out + 7 * B + i, a >> SHIFT)
    tl.store(out + 8 * B + i, tl.minimum(a, b))
    tl.store(out + 9 * B + i, tl.maximum(-a, b))
    tl.store(flags + i, (a < b).to(tl.int32) + (a == b) * 2 + (a >= b) * 4)


def wrapped(value: int, dtype: np.dtype[Any]) -> int:
    bits = 8 * dtype.itemsize
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if dtype.kind == "i" and low >> (bits - 1) else low


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_wrap_and_divide_toward_zero(rng, name):
    dtype = np.dtype(name)
    limits = np.iinfo(dtype)
    x = rng.integers(limits.min, limits.max, 64, dtype, endpoint=True)
    y = rng.integers(limits.min, limits.max, 64, dtype, endpoint=True)
    y[:8], y[y == 0] = np.arange(1, 9), 1
    x[:2] = limits.min, limits.max
    out, flags = np.zeros((10, 64), dtype), np.zeros(64, np.int32)
    with tri.interpret():
        integers[(1,)](out, flags, x, y, SHIFT=3, B=64)
    for i, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        want = [
            a + b,
            a - b,
            a * b,
            quotient,
            a - quotient * b,
            (a & b) | (a ^ ~b),
            a << 3,
            a >> 3,
            min(a, b),
        ]
        want.append(max(wrapped(-a, dtype), b))
        assert out[:, i].tolist() == [wrapped(v, dtype) for v in want], (a, b)
        assert flags[i] == (a < b) + (a == b) * 2 + (a >= b) * 4


@tri.jit
def conversions(out, x, TO: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i).to(TO))


@pytest.mark.parametrize(("source", "target"), list(itertools.product(INTEGERS, INTEGERS)))
def test_integers_to_integers(rng, source, target):
    limits = np.iinfo(source)
    x = rng.integers(limits.min, limits.max, 32, np.dtype(source), endpoint=True)
    out = np.zeros(32, np.dtype(target))
    with tri.interpret():
        conversions[(1,)](out, x, TO=t.dtype(target), B=32)
    assert out.tolist() == [wrapped(v, out.dtype) for v in x.tolist()]


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", [np.float16, np.float32, np.float64])
def test_floats_to_integers_saturate(source, target):
    limits = np.iinfo(target)
    x = np.array(
        [0.9, -0.9, 2.5, -2.5, 1e4, -1e4, 3e38, -3e38, np.nan, np.inf, -np.inf, 127.5, 300, -129, 65504, 5e9]
    )
    with np.errstate(over="ignore"):
        x = x.astype(source)
    out = np.zeros(16, target)
    with tri.interpret():
        conversions[(1,)](out, x, TO=t.dtype(target), B=16)
    for got, value in zip(out.tolist(), x.astype(np.float64).tolist(), strict=True):
        whole = 0 if math.isnan(value) else value
        assert got == (
            int(whole) if limits.min <= whole <= limits.max else limits.max if whole > 0 else limits.min
        )


@tri.jit
def high(out, x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.umulhi(tl.load(x + i), tl.load(y + i)))


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_high_products(rng, dtype):
    x, y = (rng.integers(0, np.iinfo(dtype).max, 32, dtype, endpoint=True) for _ in range(2))
    x[:2] = np.iinfo(dtype).max
    out = np.zeros(32, dtype)
    with tri.interpret():
        high[(1,)](out, x, y, B=32)
    bits = 8 * out.itemsize
    assert out.tolist() == [a * b >> bits for a, b in zip(x.tolist(), y.tolist(), strict=True)]


# --- rounding -------------------------------------------------------------------------------------------


def numbers_of(name: str) -> list[Any]:
    """What each code of a format means: a Fraction, or None."""
    bits = 8 if name.startswith("fp8") else 16
    codes = np.arange(1 << bits, dtype=f"u{bits // 8}")
    with np.errstate(invalid="ignore"):
        numbers = codes.view(FLOATS[name]).astype(np.float64)
    return [Fraction(v) if math.isfinite(v) else None for v in numbers.tolist()]


def values_of(name: str) -> dict[Fraction, int]:
    """Every finite number of a format, with a code that says which of two is even."""
    return {v: code for code, v in enumerate(numbers_of(name)) if v is not None}


TABLES = {name: sorted(values_of(name).items()) for name in FLOATS}


def rounded(value: Fraction, name: str, toward_zero: bool) -> Fraction:
    """``value`` in the format: the nearest number, of two the one with an even code; saturated."""
    import bisect

    table = TABLES[name]
    place = bisect.bisect_right(table, value, key=lambda item: item[0])
    below, above = table[max(place - 1, 0)], table[min(place, len(table) - 1)]
    if toward_zero:
        return below[0] if value >= 0 else (below[0] if below[0] == value else above[0])
    distances = value - below[0], above[0] - value
    if distances[0] == distances[1]:
        return below[0] if below[1] % 2 == 0 else above[0]
    return below[0] if distances[0] < distances[1] else above[0]


def numbers_near(name: str) -> st.SearchStrategy[float]:
    largest = float(TABLES[name][-1][0])
    inside = st.floats(-largest, largest, allow_nan=False)
    table = [float(v) for v, _ in TABLES[name]]
    middles = st.integers(0, len(table) - 2).map(lambda i: (table[i] + table[i + 1]) / 2)
    nudged = st.tuples(middles, st.sampled_from([-math.inf, math.inf])).map(lambda p: math.nextafter(*p))
    return st.one_of(inside, middles, nudged)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("toward_zero", [False, True])
def test_narrowing_rounds_once(name, toward_zero):
    type_ = t.dtype(name)

    @settings(max_examples=50, deadline=None)
    @given(st.lists(numbers_near(name), min_size=1, max_size=8))
    @example([0.0, -0.0])
    def property_(values):
        x = np.array(values)
        got = narrow(x, type_, toward_zero=toward_zero)
        back = [Fraction(v) for v in got.astype(np.float64).tolist()]
        assert back == [rounded(Fraction(v), name, toward_zero) for v in values]

    property_()


@pytest.mark.parametrize("name", ["fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16"])
def test_eight_bit_formats_saturate(name):
    got = narrow(np.array([1e9, -np.inf, np.inf, np.nan], np.float32), t.dtype(name)).astype(np.float64)
    largest = float(TABLES[name][-1][0])
    assert got[:3].tolist() == [largest, -largest, largest]
    assert np.isnan(got[3])


def test_sixteen_bit_formats_overflow_to_infinity():
    big = np.array([65520, 3.4e38])
    with np.errstate(over="ignore"):
        check_overflow(big)


def check_overflow(big):
    assert narrow(big, t.float16).tolist() == [np.inf, np.inf]
    assert narrow(big, t.float16, toward_zero=True).tolist() == [65504, 65504]
    assert np.isinf(narrow(big, t.bfloat16).astype(float)).tolist() == [False, True]


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
@settings(max_examples=200, deadline=None)
def test_tf32_keeps_ten_bits(value):
    got = float(tf32(np.array([value], np.float32))[0])
    if math.isinf(got):
        return
    if value:
        exponent = max(math.frexp(value)[1] - 1, -126)
        assert abs(Fraction(got) - Fraction(value)) * 2 <= Fraction(2) ** (exponent - 10)
    assert np.array(got, np.float32).view(np.uint32) & 0x1FFF == 0


FINITE32 = st.floats(-(2.0**60), 2.0**60, width=32).filter(lambda v: v == 0 or abs(v) > 1e-15)


@given(FINITE32, FINITE32, FINITE32)
@example(1 + 2**-12, 1 + 2**-12, -1.0)
@settings(max_examples=300, deadline=None)
def test_fma_of_fp32_rounds_once(x, y, z):
    got = fma(*(np.array([v], np.float32) for v in (x, y, z)), t.float32)[0]
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    assert Fraction(float(got)) == nearest32(exact)


def nearest32(exact: Fraction) -> Fraction:
    guess = np.float32(float(exact))
    near = [np.nextafter(guess, np.float32(d)) for d in (-np.inf, np.inf)]
    best = sorted([guess, *near], key=lambda v: (abs(Fraction(float(v)) - exact), int(v.view(np.uint32)) & 1))
    return Fraction(float(best[0]))


FINITE64 = st.floats(-1e100, 1e100).filter(lambda v: v == 0 or abs(v) > 1e-60)


@given(FINITE64, FINITE64, FINITE64)
@example(1 + 2**-30, 1 + 2**-30, -1.0)
@settings(max_examples=300, deadline=None)
def test_fma_of_fp64_rounds_once(x, y, z):
    got = fma(*(np.array([v], np.float64) for v in (x, y, z)), t.float64)[0]
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    assert float(got) == (exact.numerator / exact.denominator)


def test_dots_accumulate_in_order(rng):
    x, y = (rng.standard_normal((4, 32)).astype(np.float32) for _ in range(2))
    got = product_sum(x, y.T, np.ones((4, 4), np.float32))
    for i, j in itertools.product(range(4), range(4)):
        total = Fraction(1)
        for k in range(32):
            total = nearest32(Fraction(float(x[i, k])) * Fraction(float(y[j, k])) + total)
        assert Fraction(float(got[i, j])) == total


@tri.jit
def dots(out, x, y, P: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    place = i[:, None] * B + i[None, :]
    tl.store(out + place, tl.dot(tl.load(x + place), tl.load(y + place), input_precision=P))


@pytest.mark.parametrize(
    ("precision", "error"), [("ieee", 2e-6), ("tf32x3", 5e-6), ("bf16x6", 5e-6), ("bf16x3", 3e-4)]
)
def test_precisions_of_dots(rng, precision, error):
    x, y = (rng.standard_normal((16, 16)).astype(np.float32) for _ in range(2))
    out = np.zeros((16, 16), np.float32)
    with tri.interpret():
        dots[(1,)](out, x, y, P=precision, B=16)
    np.testing.assert_allclose(out, x.astype(np.float64) @ y.astype(np.float64), atol=error)


def test_tf32_operands_are_rounded(rng):
    x, y = (rng.standard_normal((16, 16)).astype(np.float32) for _ in range(2))
    out = np.zeros((16, 16), np.float32)
    with tri.interpret():
        dots[(1,)](out, x, y, P="tf32", B=16)
    cut = [((a.view(np.uint32) + 0x1000) & 0xFFFFE000).view(np.float32).astype(np.float64) for a in (x, y)]
    np.testing.assert_allclose(out, cut[0] @ cut[1], atol=2e-6)
    assert np.abs(out - x.astype(np.float64) @ y.astype(np.float64)).max() > 1e-4


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.float64])
def test_dots_of_other_types(rng, dtype):
    x, y = ((rng.standard_normal((16, 16)) * 40).astype(dtype) for _ in range(2))
    kind = {np.int8: np.int32, np.float16: np.float32}.get(dtype, dtype)
    out = np.zeros((16, 16), kind)
    with tri.interpret():
        dots[(1,)](out, x, y, P="ieee", B=16)
    want = x.astype(np.float64) @ y.astype(np.float64)
    np.testing.assert_allclose(
        out, want, rtol=0 if dtype is np.int8 else 1e-6, atol=1e-2 if kind == np.float32 else 1e-10
    )


# --- floats ---------------------------------------------------------------------------------------------


@tri.jit
def floats(out, x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, a + b)
    tl.store(out + B + i, a - b)
    tl.store(out + 2 * B + i, a * b)
    tl.store(out + 3 * B + i, tl.maximum(a, b))
    tl.store(out + 4 * B + i, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 5 * B + i, -a)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_arithmetic_rounds_after_every_op(rng, dtype):
    x, y = (rng.standard_normal(64).astype(dtype) for _ in range(2))
    x[3], y[5], x[7], y[7] = np.nan, np.nan, np.inf, -np.inf
    out = np.zeros((6, 64), dtype)
    with tri.interpret():
        floats[(1,)](out, x, y, B=64)
    wide = np.float64 if dtype is np.float64 else np.float32
    a, b = x.astype(wide), y.astype(wide)
    with np.errstate(invalid="ignore"):
        want = np.stack([a + b, a - b, a * b, np.fmax(a, b), np.minimum(a, b), -a]).astype(dtype)
    np.testing.assert_array_equal(out.astype(np.float64), want.astype(np.float64))
    assert np.isnan(out[4, 3].astype(float))
    assert not np.isnan(out[3, [3, 5]].astype(float)).any()


# --- reductions and scans -------------------------------------------------------------------------------


@tri.jit
def compose(a, b, c, d):
    """Two affine maps, one after the other: associative, not commutative."""
    return a * c, b * c + d


@tri.jit
def branching(a, b):
    if a > b:  # noqa: SIM108  a branch is meant
        result = a
    else:
        result = b
    return result


@tri.jit
def folds(out, x, y, REVERSE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    whole = tl.reduce((a, b), 0, compose)
    tl.store(out, whole[0])
    tl.store(out + 1, whole[1])
    first, second = tl.associative_scan((a, b), 0, compose, reverse=REVERSE)
    tl.store(out + 2 + i, first)
    tl.store(out + 2 + N + i, second)
    tl.store(out + 2 + 2 * N, tl.reduce(a, 0, branching))


@pytest.mark.parametrize("reverse", [False, True])
def test_combine_functions_keep_the_order(rng, reverse):
    x, y = (rng.integers(-5, 6, 16, np.int64) for _ in range(2))
    out = np.zeros(2 + 32 + 1, np.int64)
    with tri.interpret():
        folds[(1,)](out, x, y, REVERSE=reverse, N=16)
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))

    def steps(items):
        return list(itertools.accumulate(items, lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1])))

    scanned = steps(pairs[::-1])[::-1] if reverse else steps(pairs)
    assert tuple(out[:2]) == steps(pairs)[-1]
    assert out[2:34].tolist() == [p[0] for p in scanned] + [p[1] for p in scanned]
    assert out[34] == x.max()
