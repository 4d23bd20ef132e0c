"""Inclusive scans along every axis, forwards and backwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cpu_support import Kernel, T

SHAPES = [(64,), (4,), (1,), (8, 32), (4, 8, 16), (256, 2), (16, 1)]
CASES = [(shape, axis) for shape in SHAPES for axis in range(len(shape))]


def expected(function: Any, x: Any, axis: int, reverse: bool) -> Any:
    if not reverse:
        return function.accumulate(x, axis, dtype=x.dtype)
    return np.flip(function.accumulate(np.flip(x, axis), axis, dtype=x.dtype), axis)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("shape", "axis"), CASES)
@pytest.mark.parametrize(("name", "function"), [("arith.addi", np.add), ("arith.maxsi", np.maximum)])
def test_scan(
    name: str, function: Any, shape: tuple[int, ...], axis: int, reverse: bool, rng: np.random.Generator
) -> None:
    k = Kernel({"x": "*i32", "o": "*i32"})
    (result,) = k.scan(axis, [k.read("x", *shape)], lambda a, b: [k.same(name, a[0], b[0])], reverse)
    k.write("o", result)
    x = rng.integers(-1000, 1000, shape).astype(np.int32)
    o = np.zeros_like(x)
    k.run(x, o)
    np.testing.assert_array_equal(o, expected(function, x, axis, reverse))


@pytest.mark.parametrize("reverse", [False, True])
def test_order_matters(reverse: bool, rng: np.random.Generator) -> None:
    """A linear recurrence, h = a h + b: composition is associative but not commutative."""
    k = Kernel({"a": "*f64", "b": "*f64", "o": "*f64"})

    def combine(left: list[T], right: list[T]) -> Sequence[T]:
        return [k.mul(left[0], right[0]), k.add(k.mul(left[1], right[0]), right[1])]

    _, h = k.scan(0, [k.read("a", 128), k.read("b", 128)], combine, reverse)
    k.write("o", h)
    a, b = rng.uniform(0.5, 1.1, 128), rng.standard_normal(128)
    o = np.zeros(128)
    k.run(a, b, o)
    state, exact = 0.0, np.zeros(128)
    for i in reversed(range(128)) if reverse else range(128):
        state = state * a[i] + b[i]
        exact[i] = state
    np.testing.assert_allclose(o, exact, rtol=1e-12)


def test_scan_of_a_computed_value(rng: np.random.Generator) -> None:
    """The source is no stored tensor and the result is used again."""
    k = Kernel({"x": "*f32", "o": "*f32"})
    x = k.read("x", 64)
    (sums,) = k.scan(0, [k.mul(x, x)], lambda a, b: [k.add(a[0], b[0])])
    k.write("o", k.same("arith.subf", sums, x))
    x_data, o = rng.standard_normal(64).astype(np.float32), np.zeros(64, np.float32)
    k.run(x_data, o)
    wide = x_data.astype(np.float64)
    np.testing.assert_allclose(o, np.cumsum(wide**2) - wide, rtol=1e-5, atol=1e-5)
