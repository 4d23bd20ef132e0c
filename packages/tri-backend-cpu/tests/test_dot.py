"""Dots of every type, shape and accumulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cpu_support import NUMPY, Kernel, T
from narrow_floats import decoded, nearest

Array = npt.NDArray[Any]


def dot(k: Kernel, a: T, b: T, c: T) -> T:
    return k.op("tt.dot", [a, b, c], (c.dtype, c.shape), "inputPrecision = 2 : i32")


def random(rng: np.random.Generator, dtype: str, *shape: int) -> tuple[Array, Array]:
    """Random numbers as memory holds them, and their values in f64 or i64."""
    if dtype[0] == "i":
        data = rng.integers(-100, 100, shape).astype(NUMPY[dtype])
        return data, data.astype(np.int64)
    if dtype in {"f32", "f64"}:
        data = rng.standard_normal(shape).astype(NUMPY[dtype])
        return data, data.astype(np.float64)
    wide = rng.standard_normal(shape)
    bits = nearest(wide, dtype) | (np.signbit(wide).astype(np.int64) << (7 if dtype.startswith("f8") else 15))
    data = bits.astype(np.uint8 if dtype.startswith("f8") else np.uint16)
    return data.view(NUMPY[dtype]), decoded(dtype)[bits]


SHAPES = [
    (16, 16, 16),
    (64, 64, 32),
    (32, 128, 64),
    (1, 16, 16),
    (4, 8, 2),
    (8, 1, 16),
    (16, 4, 1),
    (2, 2, 2),
]


@pytest.mark.parametrize(("m", "n", "k_"), SHAPES)
@pytest.mark.parametrize("zero", [True, False])
def test_shapes(m: int, n: int, k_: int, zero: bool, rng: np.random.Generator) -> None:
    k = Kernel({"a": "*f32", "b": "*f32", "c": "*f32", "o": "*f32"})
    c = k.constant(0.0, "f32", (m, n)) if zero else k.read("c", m, n)
    k.write("o", dot(k, k.read("a", m, k_), k.read("b", k_, n), c))
    (a, wa), (b, wb), (c_data, wc) = (
        random(rng, "f32", m, k_),
        random(rng, "f32", k_, n),
        random(rng, "f32", m, n),
    )
    o = np.zeros((m, n), np.float32)
    k.run(a, b, c_data, o)
    np.testing.assert_allclose(o, wa @ wb + (0 if zero else wc), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("operand", "accumulator"),
    [
        ("f64", "f64"), ("f16", "f32"), ("bf16", "f32"), ("f8E5M2", "f32"), ("f8E4M3FN", "f32"), ("f16", "f16"),
        ("i8", "i32"), ("f32", "f64"),
    ],
)  # fmt: skip
def test_types(operand: str, accumulator: str, rng: np.random.Generator) -> None:
    m, n, k_ = 16, 32, 64
    k = Kernel({"a": f"*{operand}", "b": f"*{operand}", "c": f"*{accumulator}", "o": f"*{accumulator}"})
    k.write("o", dot(k, k.read("a", m, k_), k.read("b", k_, n), k.read("c", m, n)))
    (a, wa), (b, wb), (c, wc) = (
        random(rng, operand, m, k_), random(rng, operand, k_, n), random(rng, accumulator, m, n)
    )  # fmt: skip
    o = np.zeros((m, n), NUMPY[accumulator])
    k.run(a, b, c, o)
    exact = wa @ wb + wc
    tolerance = {"f64": 1e-6 if operand == "f32" else 1e-12, "f32": 2e-5, "f16": 2e-3, "i32": 0}[accumulator]
    np.testing.assert_allclose(o, exact, rtol=tolerance, atol=tolerance)


def test_batches(rng: np.random.Generator) -> None:
    k = Kernel({"a": "*f32", "b": "*f32", "o": "*f32"})
    k.write("o", dot(k, k.read("a", 4, 16, 8), k.read("b", 4, 8, 32), k.constant(0.0, "f32", (4, 16, 32))))
    (a, wa), (b, wb) = random(rng, "f32", 4, 16, 8), random(rng, "f32", 4, 8, 32)
    o = np.zeros((4, 16, 32), np.float32)
    k.run(a, b, o)
    np.testing.assert_allclose(o, wa @ wb, rtol=1e-5, atol=1e-5)


def test_transposed_and_computed_operands(rng: np.random.Generator) -> None:
    """``exp(a) @ b.T``, a and the result used again."""
    k = Kernel({"a": "*f32", "b": "*f32", "o": "*f32"})
    a = k.read("a", 16, 16)
    accumulated = dot(
        k, k.same("math.exp", a), k.trans(k.read("b", 32, 16), 1, 0), k.constant(0.0, "f32", (16, 32))
    )
    (sums,) = k.reduce(1, [a], lambda x, y: [k.add(x[0], y[0])])
    k.write("o", k.add(accumulated, k.broadcast(k.expand(sums, 1), (16, 32))))
    (a_data, wa), (b_data, wb) = random(rng, "f32", 16, 16), random(rng, "f32", 32, 16)
    o = np.zeros((16, 32), np.float32)
    k.run(a_data, b_data, o)
    np.testing.assert_allclose(o, np.exp(wa) @ wb.T + wa.sum(1, keepdims=True), rtol=1e-4, atol=1e-4)


def test_chained_dots(rng: np.random.Generator) -> None:
    """``(a @ b).to(f16) @ c``, then the first dot is used again."""
    k = Kernel({"a": "*f16", "b": "*f16", "c": "*f16", "o": "*f32", "p": "*f32"})
    first = dot(k, k.read("a", 16, 16), k.read("b", 16, 16), k.constant(0.0, "f32", (16, 16)))
    narrow = k.convert("arith.truncf", first, "f16")
    k.write("o", dot(k, narrow, k.read("c", 16, 16), first))
    k.write("p", first)
    (a, wa), (b, wb), (c, wc) = (random(rng, "f16", 16, 16) for _ in range(3))
    o, p = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float32)
    k.run(a, b, c, o, p)
    np.testing.assert_allclose(p, wa @ wb, rtol=1e-5, atol=1e-5)
    rounded = p.astype(np.float16).astype(np.float64)
    np.testing.assert_allclose(o, rounded @ wc + wa @ wb, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_accumulation_over_a_loop(dtype: str, scaled: bool, rng: np.random.Generator) -> None:
    """Tiles along k with moving pointers; ``scaled``: the accumulator is halved in every iteration."""
    m, n, tile, iterations = 16, 32, 16, 5
    k = Kernel({"a": f"*{dtype}", "b": f"*{dtype}", "o": "*f32", "iterations": "i32"})
    depth = tile * iterations
    a = k.offsets("a", k.grid_index((m, tile), (depth, 1)))
    b = k.offsets("b", k.grid_index((tile, n), (n, 1)))
    zero, one = k.constant(0, "i32"), k.constant(1, "i32")
    with k.loop(zero, k["iterations"], one, [k.constant(0.0, "f32", (m, n)), a, b]) as loop:
        acc, pa, pb = loop.arguments
        if scaled:
            acc = k.mul(acc, k.constant(0.5, "f32", (m, n)))
        loop.next = [
            dot(k, k.load(pa), k.load(pb), acc),
            k.offsets(pa, k.constant(tile, "i32", (m, tile))),
            k.offsets(pb, k.constant(tile * n, "i32", (tile, n))),
        ]
    k.write("o", loop.results[0])
    (a_data, wa), (b_data, wb) = random(rng, dtype, m, depth), random(rng, dtype, depth, n)
    o = np.zeros((m, n), np.float32)
    k.run(a_data, b_data, o, iterations)
    exact = np.zeros((m, n))
    for i in range(iterations):
        part = slice(i * tile, (i + 1) * tile)
        exact = exact * (0.5 if scaled else 1) + wa[:, part] @ wb[part]
    np.testing.assert_allclose(o, exact, rtol=1e-4, atol=1e-4)
