"""Ops that move elements without computing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cpu_support import NUMPY, Kernel, T

Array = npt.NDArray[Any]


def numbers(rng: np.random.Generator, *shape: int) -> Array:
    return rng.permutation(int(np.prod(shape))).reshape(shape).astype(np.int32)


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_trans(order: tuple[int, ...], rng: np.random.Generator) -> None:
    k = Kernel({"x": "*i32", "o": "*i32"})
    k.write("o", k.trans(k.read("x", 4, 8, 16), *order))
    x = numbers(rng, 4, 8, 16)
    o = np.zeros(x.transpose(order).shape, np.int32)
    k.run(x, o)
    np.testing.assert_array_equal(o, x.transpose(order))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ((64,), (8, 8)),
        ((8, 8), (64,)),
        ((4, 16), (16, 4)),
        ((2, 4, 8), (8, 8)),
        ((16,), (1, 16, 1)),
        ((1, 16), (16,)),
        ((1,), (1, 1)),
    ],
)
@pytest.mark.parametrize("computed", [True, False])
def test_reshape(
    source: tuple[int, ...], target: tuple[int, ...], computed: bool, rng: np.random.Generator
) -> None:
    k = Kernel({"x": "*i32", "o": "*i32"})
    value = k.read("x", *source)
    value = k.add(value, value) if computed else value
    k.write("o", k.reshape(value, *target))
    x, o = numbers(rng, *source), np.zeros(target, np.int32)
    k.run(x, o)
    np.testing.assert_array_equal(o, x.reshape(target) * (2 if computed else 1))


def test_reshape_of_a_transposed_tensor(rng: np.random.Generator) -> None:
    """And back again, with the first form used too."""
    k = Kernel({"x": "*i32", "o": "*i32", "p": "*i32"})
    transposed = k.trans(k.read("x", 8, 16), 1, 0)
    flat = k.reshape(transposed, 128)
    k.write("o", flat)
    k.write("p", k.add(k.reshape(flat, 16, 8), transposed))
    x, o, p = numbers(rng, 8, 16), np.zeros(128, np.int32), np.zeros((16, 8), np.int32)
    k.run(x, o, p)
    np.testing.assert_array_equal(o, x.T.ravel())
    np.testing.assert_array_equal(p, 2 * x.T)


@pytest.mark.parametrize("shape", [(16,), (4, 8), (1,)])
def test_join_and_split(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    k = Kernel({"x": "*i32", "y": "*i32", "o": "*i32", "a": "*i32", "b": "*i32"})
    joined = k.op("tt.join", [k.read("x", *shape), k.read("y", *shape)], ("i32", (*shape, 2)))
    k.write("o", joined)
    halves = split(k, k.add(joined, joined))
    k.write("a", halves[0])
    k.write("b", k.add(*halves))
    x, y = numbers(rng, *shape), numbers(rng, *shape)
    o, a, b = np.zeros((*shape, 2), np.int32), np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    k.run(x, y, o, a, b)
    np.testing.assert_array_equal(o, np.stack([x, y], -1))
    np.testing.assert_array_equal(a, 2 * x)
    np.testing.assert_array_equal(b, 2 * (x + y))


def split(k: Kernel, value: T) -> list[T]:
    assert value.shape is not None
    name = f"%s{k.count}"
    k.count += 1
    halves = [T(f"{name}#{i}", value.dtype, value.shape[:-1]) for i in range(2)]
    k.lines.append(
        f'{name}:2 = "tt.split"({value.name}) : ({value.type}) -> ({halves[0].type}, {halves[1].type})'
    )
    return halves


def test_cat(rng: np.random.Generator) -> None:
    k = Kernel({"x": "*i32", "y": "*i32", "o": "*i32"})
    k.write("o", k.op("tt.cat", [k.read("x", 32), k.read("y", 32)], ("i32", (64,))))
    x, y, o = numbers(rng, 32), numbers(rng, 32), np.zeros(64, np.int32)
    k.run(x, y, o)
    np.testing.assert_array_equal(o, np.concatenate([x, y]))


@pytest.mark.parametrize("axis", [0, 1])
def test_gather(axis: int, rng: np.random.Generator) -> None:
    shape = (8, 16) if axis == 0 else (32, 4)
    k = Kernel({"x": "*i32", "i": "*i32", "o": "*i32"})
    source = k.read("x", 32, 16)
    k.write("o", k.op("tt.gather", [source, k.read("i", *shape)], ("i32", shape), f"axis = {axis} : i32"))
    x, i, o = (
        numbers(rng, 32, 16),
        rng.integers(0, (32, 16)[axis], shape).astype(np.int32),
        np.zeros(shape, np.int32),
    )
    k.run(x, i, o)
    np.testing.assert_array_equal(o, np.take_along_axis(x, i, axis))


def test_gather_of_what_is_stored_too(rng: np.random.Generator) -> None:
    """One nest wants the value at its points and anywhere: it must be whole before."""
    k = Kernel({"x": "*i32", "i": "*i32", "o": "*i32", "p": "*i32"})
    indices = k.read("i", 64)
    double = k.op("arith.addi", [k.read("x", 64), indices], ("i32", (64,)))
    gathered = k.op("tt.gather", [double, indices], ("i32", (64,)), "axis = 0 : i32")
    k.write("o", double)
    k.write("p", gathered)
    x, i = numbers(rng, 64), rng.permutation(64).astype(np.int32)
    o, p = np.zeros(64, np.int32), np.zeros(64, np.int32)
    k.run(x, i, o, p)
    np.testing.assert_array_equal(o, x + i)
    np.testing.assert_array_equal(p, (x + i)[i])


def test_gather_out_of_range_reads_within_the_tensor(rng: np.random.Generator) -> None:
    k = Kernel({"x": "*i32", "i": "*i32", "o": "*i32"})
    k.write("o", k.op("tt.gather", [k.read("x", 16), k.read("i", 16)], ("i32", (16,)), "axis = 0 : i32"))
    x, o = numbers(rng, 16), np.full(16, -1, np.int32)
    i = np.array([-1, 16, 1 << 30, -(1 << 31)] * 4, np.int32)
    k.run(x, i, o)
    assert np.isin(o, x).all()


@pytest.mark.parametrize("masked", [True, False])
def test_histogram(masked: bool, rng: np.random.Generator) -> None:
    """Values outside of the histogram are not counted."""
    k = Kernel({"x": "*i32", "m": "*i8", "o": "*i32"})
    operands = [k.read("x", 256)]
    if masked:
        operands.append(k.compare(1, k.read("m", 256), k.constant(0, "i8", (256,))))
    sizes = f"operandSegmentSizes = array<i32: 1, {int(masked)}>"
    k.write("o", k.op("tt.histogram", operands, ("i32", (16,)), sizes))
    x, m = rng.integers(-3, 20, 256).astype(np.int32), rng.integers(0, 2, 256).astype(np.int8)
    o = np.full(16, 7, np.int32)
    k.run(x, m, o, grid=(2,))
    counted = x[(x >= 0) & (x < 16) & ((m != 0) | (not masked))]
    np.testing.assert_array_equal(o, np.bincount(counted, minlength=16))


@pytest.mark.parametrize(("dtype", "bins"), [("i8", 128), ("i8", 256), ("i8", 512), ("i16", 1 << 16)])
def test_histogram_of_narrow_integers(dtype: str, bins: int, rng: np.random.Generator) -> None:
    """Every number of the type may have a bin; there may be more bins than numbers."""
    k = Kernel({"x": f"*{dtype}", "o": "*i32"})
    sizes = "operandSegmentSizes = array<i32: 1, 0>"
    k.write("o", k.op("tt.histogram", [k.read("x", 256)], ("i32", (bins,)), sizes))
    x, o = rng.integers(0, 120, 256).astype(NUMPY[dtype]), np.zeros(bins, np.int32)
    k.run(x, o)
    np.testing.assert_array_equal(o, np.bincount(x, minlength=bins))


def test_unsplat(rng: np.random.Generator) -> None:
    k = Kernel({"x": "*i32", "o": "*i32"})
    one = k.load(k.offsets("x", k.add(k.range(1), k.constant(5, "i32", (1,)))))
    k.store(k["o"], k.op("tt.unsplat", [one], ("i32", None)))
    x, o = numbers(rng, 16), np.zeros(1, np.int32)
    k.run(x, o)
    assert o[0] == x[5]


def test_broadcast_in_every_direction(rng: np.random.Generator) -> None:
    shape = (4, 8, 16)
    k = Kernel({"x": "*i32", "y": "*i32", "z": "*i32", "o": "*i32"})
    x = k.expand(k.expand(k.read("x", 4), 1), 1)
    y = k.expand(k.expand(k.read("y", 8), 1), 0)
    z = k.expand(k.expand(k.read("z", 16), 0), 0)
    k.write("o", k.add(k.add(k.broadcast(x, shape), k.broadcast(y, shape)), k.broadcast(z, shape)))
    data = [numbers(rng, n) * f for n, f in zip(shape, (10000, 100, 1), strict=True)]
    o = np.zeros(shape, np.int32)
    k.run(*data, o)
    np.testing.assert_array_equal(o, data[0][:, None, None] + data[1][:, None] + data[2])
