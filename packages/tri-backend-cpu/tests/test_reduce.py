"""Reductions: along and across vectors, masked, of several operands, by any function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cpu_support import NUMPY, Kernel, T

Array = npt.NDArray[Any]
SHAPES = [(64,), (1024,), (2,), (1,), (16, 64), (64, 16), (4, 8, 32), (32, 1), (1, 32), (8, 2), (256, 4)]


def one_op(k: Kernel, name: str) -> Callable[[list[T], list[T]], Sequence[T]]:
    return lambda left, right: [k.same(name, left[0], right[0])]


def reduced(name: str, x: Array, dtype: str, axis: int) -> Array:
    k = Kernel({"x": f"*{dtype}", "o": f"*{dtype}"})
    (result,) = k.reduce(axis, [k.read("x", *x.shape)], one_op(k, name))
    k.write("o", result)
    out = np.zeros((*x.shape[:axis], *x.shape[axis + 1 :]), NUMPY[dtype])
    k.run(x, out)
    return out


CASES = [(shape, axis) for shape in SHAPES for axis in range(len(shape))]


@pytest.mark.parametrize(("shape", "axis"), CASES)
def test_sum(shape: tuple[int, ...], axis: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal(shape).astype(np.float32)
    exact = x.astype(np.float64).sum(axis)
    bound = np.abs(x).astype(np.float64).sum(axis) * 2e-7 * np.log2(max(shape[axis], 2))
    assert (np.abs(reduced("arith.addf", x, "f32", axis) - exact) <= bound).all()


INTEGERS: dict[str, Any] = {
    "arith.addi": np.add, "arith.muli": np.multiply, "arith.maxsi": np.maximum, "arith.minsi": np.minimum,
    "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor,
}  # fmt: skip


@pytest.mark.parametrize(("shape", "axis"), [((512,), 0), ((16, 64), 0), ((16, 64), 1)])
@pytest.mark.parametrize("dtype", ["i8", "i32", "i64"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str, dtype: str, shape: tuple[int, ...], axis: int, rng: np.random.Generator) -> None:
    info = np.iinfo(NUMPY[dtype])
    x = rng.integers(info.min, info.max, shape, dtype=info.dtype, endpoint=True) | 1
    expected = INTEGERS[name].reduce(x, axis, dtype=info.dtype)
    np.testing.assert_array_equal(reduced(name, x, dtype, axis), expected)


@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.parametrize(("shape", "axis"), [((256,), 0), ((8, 64), 0), ((8, 64), 1)])
@pytest.mark.parametrize(
    ("name", "oracle"),
    [
        ("arith.maxnumf", np.fmax),
        ("arith.minnumf", np.fmin),
        ("arith.maximumf", np.maximum),
        ("arith.minimumf", np.minimum),
    ],
)
def test_extremes_with_nan(
    name: str, oracle: Any, shape: tuple[int, ...], axis: int, rng: np.random.Generator
) -> None:
    x = rng.standard_normal(shape).astype(np.float32)
    x.ravel()[::7] = np.nan
    for value in (x, -np.abs(x) - 1e30, np.full_like(x, np.nan), np.full_like(x, -np.inf)):
        np.testing.assert_array_equal(reduced(name, value, "f32", axis), oracle.reduce(value, axis))


@pytest.mark.parametrize("n", [1, 5, 16, 64, 65, 100, 128])
def test_masked_row(n: int, rng: np.random.Generator) -> None:
    """The loop over vectors is split where the mask ends; both parts feed one sum and one maximum."""
    k = Kernel({"x": "*f32", "o": "*f32", "n": "i32"})
    index = k.range(128)
    mask = k.compare(2, index, k.splat(k["n"], (128,)))
    (largest,) = k.reduce(
        0,
        [k.load(k.offsets("x", index), mask, k.constant("0xFF800000", "f32", (128,)))],
        one_op(k, "arith.maxnumf"),
    )
    (total,) = k.reduce(
        0, [k.load(k.offsets("x", index), mask, k.constant(0.0, "f32", (128,)))], one_op(k, "arith.addf")
    )
    k.store(k["o"], largest)
    k.store(k.offsets("o", k.constant(1, "i32")), total)
    x, o = rng.standard_normal(128).astype(np.float32), np.zeros(2, np.float32)
    k.run(x, o, n)
    assert o[0] == x[:n].max()
    np.testing.assert_allclose(o[1], x[:n].astype(np.float64).sum(), atol=1e-4)


def argmax(k: Kernel) -> Callable[[list[T], list[T]], Sequence[T]]:
    """The larger value; the smaller index among equal ones."""

    def combine(left: list[T], right: list[T]) -> Sequence[T]:
        larger, equal = k.compare(2, left[0], right[0]), k.compare(1, left[0], right[0])
        earlier = k.compare(2, left[1], right[1])
        keep = k.same("arith.ori", larger, k.same("arith.andi", equal, earlier))
        return [k.op("arith.select", [keep, left[i], right[i]], (left[i].dtype, None)) for i in range(2)]

    return combine


@pytest.mark.parametrize("mask_from", [None, 30])
@pytest.mark.parametrize(
    ("shape", "axis"), [((256,), 0), ((16,), 0), ((8, 64), 0), ((8, 64), 1), ((64, 2), 1)]
)
def test_argmax(shape: tuple[int, ...], axis: int, mask_from: int | None, rng: np.random.Generator) -> None:
    k = Kernel({"x": "*f32", "v": "*f32", "i": "*i32", "n": "i32"})
    index = k.grid_index(shape)
    mask = k.compare(2, index, k.splat(k["n"], shape)) if mask_from else None
    value = k.load(k.offsets("x", index), mask, k.constant(-9.0, "f32", shape) if mask else None)
    along = k.range(shape[axis])
    for d in range(len(shape)):
        along = k.expand(along, d) if d != axis else along
    best, place = k.reduce(axis, [value, k.broadcast(along, shape)], argmax(k))
    k.write("v", best)
    k.write("i", place)
    x = rng.integers(0, 9, shape).astype(np.float32)  # with ties
    rest = (*shape[:axis], *shape[axis + 1 :])
    v, i = np.zeros(rest, np.float32), np.zeros(rest, np.int32)
    n = mask_from or x.size
    k.run(x, v, i, n)
    seen = np.where(np.arange(x.size).reshape(shape) < n, x, -9)
    np.testing.assert_array_equal(v, seen.max(axis))
    np.testing.assert_array_equal(i, seen.argmax(axis))


def test_a_function_without_neutral_element(rng: np.random.Generator) -> None:
    """Two results of two ops: the product of one operand, the sum of the other."""
    k = Kernel({"a": "*i32", "b": "*i32", "o": "*i32"})

    def combine(left: list[T], right: list[T]) -> Sequence[T]:
        return [k.mul(left[0], right[0]), k.add(left[1], right[1])]

    product, total = k.reduce(0, [k.read("a", 512), k.read("b", 512)], combine)
    k.store(k["o"], product)
    k.store(k.offsets("o", k.constant(1, "i32")), total)
    a, b = (rng.integers(-1000, 1000, 512, dtype=np.int32) | 1 for _ in range(2))
    o = np.zeros(2, np.int32)
    k.run(a, b, o)
    assert o[0] == np.multiply.reduce(a, dtype=np.int32)
    assert o[1] == np.add.reduce(b, dtype=np.int32)


def test_one_pass_for_independent_reductions(rng: np.random.Generator) -> None:
    """Sum and sum of squares of one tensor."""
    k = Kernel({"x": "*f32", "o": "*f32"})
    x = k.read("x", 256)
    (total,) = k.reduce(0, [x], one_op(k, "arith.addf"))
    (squares,) = k.reduce(0, [k.mul(x, x)], one_op(k, "arith.addf"))
    k.store(k["o"], total)
    k.store(k.offsets("o", k.constant(1, "i32")), squares)
    data, o = rng.standard_normal(256).astype(np.float32), np.zeros(2, np.float32)
    k.run(data, o)
    wide = data.astype(np.float64)
    np.testing.assert_allclose(o, [wide.sum(), (wide**2).sum()], rtol=1e-5, atol=1e-5)


def test_chain_of_reductions(rng: np.random.Generator) -> None:
    """Rows are reduced, broadcast back, used, and reduced again: softmax of rows and a sum of everything."""
    shape = (8, 32)
    k = Kernel({"x": "*f32", "o": "*f32", "s": "*f32"})
    x = k.read("x", *shape)
    (largest,) = k.reduce(1, [x], one_op(k, "arith.maxnumf"))
    shifted = k.same("arith.subf", x, k.broadcast(k.expand(largest, 1), shape))
    e = k.same("math.exp", shifted)
    (total,) = k.reduce(1, [e], one_op(k, "arith.addf"))
    k.write("o", k.same("arith.divf", e, k.broadcast(k.expand(total, 1), shape)))
    (everything,) = k.reduce(0, [total], one_op(k, "arith.addf"))
    k.store(k["s"], everything)
    data, o, s = (
        rng.standard_normal(shape).astype(np.float32),
        np.zeros(shape, np.float32),
        np.zeros(1, np.float32),
    )
    k.run(data, o, s)
    wide = np.exp(data.astype(np.float64) - data.max(1, keepdims=True))
    np.testing.assert_allclose(o, wide / wide.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(s[0], wide.sum(), rtol=1e-5)


@pytest.mark.parametrize("block", [32, 512])
def test_sum_over_tiles(block: int, rng: np.random.Generator) -> None:
    """What a loop sums up and a reduction takes afterwards: reduced within the loop when the tile is large."""
    k = Kernel({"x": "*f32", "o": "*f32", "n": "i32"})
    zero, step = k.constant(0, "i32"), k.constant(block, "i32")
    with k.loop(zero, k["n"], step, [k.constant(0.0, "f32", (block,))]) as loop:
        index = k.add(k.splat(loop.index, (block,)), k.range(block))
        mask = k.compare(2, index, k.splat(k["n"], (block,)))
        value = k.load(k.offsets("x", index), mask, k.constant(0.0, "f32", (block,)))
        loop.next = [k.add(loop.arguments[0], value)]
    (total,) = k.reduce(0, [loop.results[0]], one_op(k, "arith.addf"))
    k.store(k["o"], total)
    x, o = rng.standard_normal(3000).astype(np.float32), np.zeros(1, np.float32)
    for n in (0, 1, 500, 2048, 3000):
        k.run(x, o, n)
        np.testing.assert_allclose(o[0], x[:n].astype(np.float64).sum(), atol=1e-3)


def test_branches_in_a_combining_function(rng: np.random.Generator) -> None:
    k = Kernel({"x": "*f32", "o": "*f32"})

    def combine(left: list[T], right: list[T]) -> Sequence[T]:
        condition = k.compare(2, left[0], right[0])
        result = T(f"%c{k.count}", "f32")
        k.lines.append(
            f"{result.name} = scf.if {condition.name} -> (f32) {{ scf.yield {left[0].name} : f32 }}"
            f' else {{ scf.yield {right[0].name} : f32 }} loc("kernel.py":7:5)'
        )
        return [result]

    (result,) = k.reduce(0, [k.read("x", 64)], combine)
    k.store(k["o"], result)
    x, o = rng.standard_normal(64).astype(np.float32), np.zeros(1, np.float32)
    k.run(x, o)
    assert o[0] == x.max()
