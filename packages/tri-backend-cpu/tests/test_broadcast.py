"""Blocks of which some dimensions have size 1, stretched over others: every type, strides, masks, reductions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cpu_support import NUMPY, Kernel, T
from tri_backend_cpu.target import host_arch

DTYPES = ("i8", "i16", "i32", "i64", "f16", "f32", "f64")
#: this machine and a lesser one: their vectors differ in width
TARGETS = ("cpu", "cpu:x86_64") if host_arch().startswith("x86_64") else ("cpu",)
Shape = tuple[int, ...]


@dataclass
class Block:
    """A parameter of the kernel, the array passed for it, and what the kernel loads of that."""

    name: str
    array: np.ndarray
    value: T
    numbers: np.ndarray


class Program:
    """A kernel that combines blocks of ``dtype`` over ``shape``, with the numbers that it is to give."""

    def __init__(self, draw: Any, shape: Shape, dtype: str) -> None:
        self.draw, self.shape, self.dtype = draw, shape, dtype
        names = {f"x{i}": f"*{dtype}" for i in range(3)}
        self.kernel = Kernel({**names, "o": f"*{dtype}", "r": f"*{dtype}", "n": "i32"})
        self.rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        self.n = draw(st.integers(-1, max(shape) + 1))
        self.arrays: list[np.ndarray] = []

    def some_shape(self) -> Shape:
        """``shape`` with some dimensions of size 1."""
        return tuple(n if self.draw(st.booleans()) else 1 for n in self.shape)

    def load(self, name: str) -> tuple[T, np.ndarray]:
        """A block of some shape and strides, perhaps masked."""
        k, shape = self.kernel, self.some_shape()
        gap, last = self.draw(st.integers(0, 3)), self.draw(st.sampled_from((1, 1, 2, 0)))
        strides = [math.prod(shape[d + 1 :]) * max(last, 1) + gap for d in range(len(shape))]
        strides[-1] = last
        offsets = sum(i * s for i, s in zip(np.indices(shape), strides, strict=True))
        array = self.rng.integers(-3, 4, int(offsets.max()) + 1).astype(NUMPY[self.dtype])
        self.arrays.append(array)
        pointer = k.offsets(name, k.grid_index(shape, strides))
        if self.draw(st.booleans()):
            return self.stretched(k.load(pointer), array[offsets])
        mask, kept = self.mask(shape)
        other = k.constant(2, self.dtype, shape)
        return self.stretched(k.load(pointer, mask, other), np.where(kept, array[offsets], 2))

    def mask(self, shape: Shape) -> tuple[T, np.ndarray]:
        """``index < n`` along one dimension of ``shape``."""
        k, d = self.kernel, self.draw(st.integers(0, len(shape) - 1))
        index = k.range(shape[d])
        for axis in range(len(shape)):
            index = k.expand(index, axis) if axis != d else index
        mask = k.compare(2, index, k.splat(k["n"], index.shape or ()))
        return k.broadcast(mask, shape), np.broadcast_to(np.indices(shape)[d] < self.n, shape)

    def stretched(self, value: T, array: np.ndarray) -> tuple[T, np.ndarray]:
        """To the whole shape, one dimension after the other or all at once."""
        order = self.draw(st.permutations(range(len(self.shape))))
        shape = list(array.shape)
        if self.draw(st.booleans()):
            for d in order:
                shape[d] = self.shape[d]
                value = self.kernel.broadcast(value, tuple(shape))
        return self.kernel.broadcast(value, self.shape), np.broadcast_to(array, self.shape)

    def reduced(self, value: T, array: np.ndarray) -> tuple[T, np.ndarray]:
        k, axis = self.kernel, self.draw(st.integers(0, len(self.shape) - 1))
        (result,) = k.reduce(axis, [value], lambda x, y: [k.add(x[0], y[0])])
        return result, array.sum(axis, dtype=array.dtype)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    shape=st.lists(st.sampled_from((1, 2, 4, 8, 16, 32)), min_size=1, max_size=3).map(tuple),
    dtype=st.sampled_from(DTYPES),
    target=st.sampled_from(TARGETS),
    data=st.data(),
)
def test_random_blocks(shape: Shape, dtype: str, target: str, data: st.DataObject) -> None:
    if math.prod(shape) > 1024:
        shape = shape[:2]
    p = Program(data.draw, shape, dtype)
    (x, ax), (y, ay), (z, az) = (p.load(f"x{i}") for i in range(3))
    k = p.kernel
    total, numbers = k.add(k.mul(x, y), z), ax * ay + az
    k.write("o", total)
    result, reduced = p.reduced(total, numbers)
    k.write("r", result)
    o, r = np.zeros(shape, NUMPY[dtype]), np.zeros(reduced.shape, NUMPY[dtype])
    k.run(*p.arrays, o, r, p.n, target=target)
    np.testing.assert_array_equal(o, numbers, err_msg=k.text)
    np.testing.assert_array_equal(r, reduced, err_msg=k.text)


@pytest.mark.parametrize("dtype", [*DTYPES, "bf16", "f8E5M2"])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_row_or_column_spread_over_a_block(axis: int, dtype: str, rng: np.random.Generator) -> None:
    """Nothing beyond the row or column is read: the array ends where it does."""
    k = Kernel({"x": f"*{dtype}", "o": f"*{dtype}"})
    part = (4, 1) if axis else (1, 8)
    k.write("o", k.broadcast(k.load(k.offsets("x", k.grid_index(part))), (4, 8)))
    x = rng.integers(1, 100, part).astype(NUMPY[dtype])
    o = np.zeros((4, 8), NUMPY[dtype])
    k.run(x, o)
    np.testing.assert_array_equal(o, np.broadcast_to(x, (4, 8)))


def test_a_column_of_pointers_spread_for_atomics() -> None:
    """Every element of a row adds to the row's counter."""
    k = Kernel({"o": "*i32"})
    pointers = k.broadcast(k.offsets("o", k.grid_index((4, 1))), (4, 8))
    ones = k.constant(1, "i32", (4, 8))
    k.op(
        "tt.atomic_rmw",
        [pointers, ones],
        ("i32", (4, 8)),
        "atomic_rmw_op = 4 : i32, sem = 1 : i32, scope = 1 : i32",
    )
    o = np.zeros(4, np.int32)
    k.run(o)
    np.testing.assert_array_equal(o, [8] * 4)
