"""Floats as integers modulo a power of two: what rewritings may rely on, and what they may not."""

from __future__ import annotations

import numpy as np
import pytest

from tri_core import ring
from tri_core.errors import Unsupported

WIDTHS = (np.int16, np.int32, np.int64)


def _any(dtype: type, count: int = 200) -> list[np.ndarray]:
    random = np.random.default_rng(3)
    info = np.iinfo(dtype)
    return [random.integers(info.min, info.max, count, dtype, endpoint=True) for _ in range(3)]


@pytest.mark.parametrize("dtype", WIDTHS)
def test_sums_and_products_are_those_of_a_ring(dtype: type) -> None:
    x, y, z = _any(dtype)
    add, mul, fma, div = map(ring.function, ("add", "mul", "fma", "div"))
    assert (add(add(x, y), z) == add(x, add(z, y))).all()
    assert (mul(x, add(y, z)) == add(mul(x, y), mul(x, z))).all()
    assert (fma(x, y, z) == add(mul(x, y), z)).all()
    assert (div(x, y) == mul(x, ring.function("rcp")(y))).all()
    assert (mul(x | 1, ring.function("rcp")(x | 1)) == 1).all()
    assert ring.function("rcp")(np.array([0, 1, -1], dtype)).tolist() == [0, 1, -1]


@pytest.mark.parametrize("dtype", WIDTHS)
def test_powers_of_sums_are_products(dtype: type) -> None:
    x, y, _ = _any(dtype)
    exp2 = ring.function("exp2")
    assert (exp2((x + y).astype(dtype)) == (exp2(x) * exp2(y)).astype(dtype)).all()
    assert (exp2(np.zeros(1, dtype)) == 1).all()
    assert len(set(exp2(x).tolist())) > 150


@pytest.mark.parametrize(
    "name", ["add", "mul", "div", "exp2", "exp", "log", "sqrt", "rsqrt", "tanh", "max", "powf"]
)
def test_narrow_results_are_those_of_wide_operands_cut(name: str) -> None:
    x, y, _ = _any(np.int16)
    given = (x,) if name not in ("add", "mul", "div", "max", "powf") else (x, y)
    wide = ring.function(name)(*(each.astype(np.int32) for each in given)).astype(np.int16)
    assert (ring.function(name)(*given) == wide).all()


def test_functions_differ() -> None:
    x = np.arange(-50, 50, dtype=np.int32)
    names = ("sin", "cos", "tanh", "sqrt", "log2", "exp2", "exp", "floor", "ceil")
    made = [tuple(ring.function(name)(x).tolist()) for name in names]
    assert len(set(made)) == len(names)
    with pytest.raises(Unsupported, match="no meaning for gamma"):
        ring.function("gamma")


def test_infinities_are_outside_of_all_others() -> None:
    least, greatest = (ring.literal(value, 32) for value in (-np.inf, np.inf))
    x = np.array([-(2**31), 5, 2**31 - 1], np.int32)
    low, high = np.full(3, least, np.int32), np.full(3, greatest, np.int32)
    assert (ring.function("max")(x, low) == x).all()
    assert (ring.function("min")(x, high) == x).all()
    assert ring.compare(4, low, x).all()
    assert ring.compare(2, high, x).all()
    assert not ring.compare(14, x, x).any()
    assert ring.compare(7, x, x).all()


@pytest.mark.parametrize("value", [0.0, 1.0, -1.0, 7.0, 0.5, 0.1, 3.25, -2.5, 1e-6, float("inf")])
def test_literals_agree_with_casts_and_signs(value: float) -> None:
    half = float(np.float16(value))
    assert ring.literal(half, 32) == ring.literal(half, 16)
    assert ring.literal(value, 64) != 0 or value == 0
    assert ring.literal(-value, 32) == -ring.literal(value, 32)
    single = float(np.float32(value))
    assert ring.literal(single, 64) == ring.literal(single, 32)


def test_whole_literals_are_themselves() -> None:
    assert [ring.literal(n, 32) for n in (0.0, 1.0, -3.0, 65536.0)] == [0, 1, -3, 65536]
    assert ring.literals(np.array([[2.0, -0.0]]), 16).tolist() == [[2, 0]]


def test_floats_of_8_bits_are_refused() -> None:
    with pytest.raises(Unsupported, match="8 bits"):
        ring.numbers(np.zeros(4, np.uint8))
    with pytest.raises(Unsupported, match="f8E5M2"):
        ring.elements(np.zeros(4, np.uint8), "f8E5M2")
