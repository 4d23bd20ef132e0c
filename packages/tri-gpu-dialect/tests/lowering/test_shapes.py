from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tri_gpu_dialect.encodings import Blocked, Slice
from tri_gpu_dialect.testing import TensorSpec, kernel, run

Array = npt.NDArray[Any]
RNG = np.random.default_rng(13)

B1 = Blocked((2,), (32,), (4,), (0,))
B2 = Blocked((1, 4), (4, 8), (4, 1), (1, 0))
B2T = Blocked((4, 1), (8, 4), (1, 4), (0, 1))
B3 = Blocked((1, 2, 2), (2, 4, 4), (2, 2, 1), (2, 1, 0))


def apply(
    body: str, inputs: list[tuple[Array, Any]], outputs: list[tuple[tuple[int, ...], Any]]
) -> list[Array]:
    """Runs ``body`` on i32 tensors; IN0, OUT0, ... are their types."""
    ins = [TensorSpec("i32", a.shape, e) for a, e in inputs]
    outs = [TensorSpec("i32", shape, e) for shape, e in outputs]
    for name, specs in (("IN", ins), ("OUT", outs)):
        for i, spec in enumerate(specs):
            body = body.replace(f"{name}{i}", spec.type)
    results = [np.full(shape, -1, np.int32) for shape, _ in outputs]
    run(kernel(ins, outs, body, warps=4, lanes=32), [*(a for a, _ in inputs), *results])
    return results


def numbers(*shape: int) -> Array:
    return RNG.integers(0, 1 << 30, shape).astype(np.int32)


@pytest.mark.parametrize("target", [B2, B2T])
@pytest.mark.parametrize("axis", [0, 1])
def test_expand_and_broadcast(axis: int, target: Blocked) -> None:
    x = numbers(64)
    shape = (64, 32) if axis == 1 else (32, 64)
    narrow = TensorSpec("i32", (64, 1) if axis == 1 else (1, 64), target).type
    body = f"""%e = "tt.expand_dims"(%in0) {{axis = {axis} : i32}} : (IN0) -> {narrow}
      %out0 = "tt.broadcast"(%e) : ({narrow}) -> OUT0"""
    (y,) = apply(body, [(x, Slice(axis, target))], [(shape, target)])
    np.testing.assert_array_equal(y, np.broadcast_to(np.expand_dims(x, axis), shape))


@pytest.mark.parametrize(
    ("source", "shape", "target"),
    [(B1, (16, 32), B2), (B1, (32, 16), B2T), (B1, (8, 8, 8), B3)],
)
def test_reshape_is_row_major(source: Blocked, shape: tuple[int, ...], target: Blocked) -> None:
    x = numbers(512)
    (y,) = apply('%out0 = "tt.reshape"(%in0) : (IN0) -> OUT0', [(x, source)], [(shape, target)])
    np.testing.assert_array_equal(y, x.reshape(shape))


def test_reshape_in_any_order_keeps_the_elements() -> None:
    x = np.arange(512, dtype=np.int32)
    body = '%out0 = "tt.reshape"(%in0) {allow_reorder = true} : (IN0) -> OUT0'
    (y,) = apply(body, [(x, B1)], [((16, 32), B2)])
    assert sorted(y.ravel()) == list(range(512))


@pytest.mark.parametrize("target", [B2, B2T])
def test_transpose(target: Blocked) -> None:
    x = numbers(32, 64)
    body = '%out0 = "tt.trans"(%in0) {order = array<i32: 1, 0>} : (IN0) -> OUT0'
    (y,) = apply(body, [(x, B2)], [((64, 32), target)])
    np.testing.assert_array_equal(y, x.T)


def test_permutation_of_three_dimensions() -> None:
    x = numbers(4, 8, 16)
    body = '%out0 = "tt.trans"(%in0) {order = array<i32: 2, 0, 1>} : (IN0) -> OUT0'
    (y,) = apply(body, [(x, B3)], [((16, 4, 8), B3)])
    np.testing.assert_array_equal(y, x.transpose(2, 0, 1))


def test_join_and_split_are_inverse() -> None:
    x, y = numbers(16, 32), numbers(16, 32)
    joined = TensorSpec("i32", (16, 32, 2), Blocked((1, 4, 2), (4, 8, 1), (4, 1, 1), (2, 1, 0))).type
    body = f"""%out2 = "tt.join"(%in0, %in1) : (IN0, IN1) -> {joined}
      %out0, %out1 = "tt.split"(%out2) : ({joined}) -> (OUT0, OUT1)"""
    third = ((16, 32, 2), Blocked((1, 4, 2), (4, 8, 1), (4, 1, 1), (2, 1, 0)))
    a, b, both = apply(body, [(x, B2), (y, B2)], [((16, 32), B2), ((16, 32), B2), third])
    np.testing.assert_array_equal(a, x)
    np.testing.assert_array_equal(b, y)
    np.testing.assert_array_equal(both, np.stack([x, y], -1))


def test_cat_has_the_elements_of_both() -> None:
    x, y = np.arange(512, dtype=np.int32), np.arange(512, 1024, dtype=np.int32)
    (z,) = apply('%out0 = "tt.cat"(%in0, %in1) : (IN0, IN1) -> OUT0', [(x, B1), (y, B1)], [((1024,), B1)])
    assert sorted(z) == list(range(1024))


@pytest.mark.parametrize("axis", [0, 1])
def test_gather(axis: int) -> None:
    x = numbers(32, 64)
    indices = RNG.integers(0, x.shape[axis], (32, 64)).astype(np.int32)
    body = f'%out0 = "tt.gather"(%in0, %in1) {{axis = {axis} : i32}} : (IN0, IN1) -> OUT0'
    (y,) = apply(body, [(x, B2), (indices, B2T)], [((32, 64), B2T)])
    np.testing.assert_array_equal(y, np.take_along_axis(x, indices, axis))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("size", [64, 2048])
def test_histogram_counts_values_in_range(size: int, masked: bool) -> None:
    x = RNG.integers(-3, 40, size).astype(np.int32)
    keep = np.ones(size, np.bool_)
    body = '%out0 = "tt.histogram"(%in0) {operandSegmentSizes = array<i32: 1, 0>} : (IN0) -> OUT0'
    if masked:
        mask = TensorSpec("i1", (size,), B1).type
        body = f"""%c = arith.constant dense<20> : IN0
          %m = arith.cmpi slt, %in0, %c : IN0
          %out0 = "tt.histogram"(%in0, %m) {{operandSegmentSizes = array<i32: 1, 1>}} : (IN0, {mask}) -> OUT0"""
        keep = x < 20
    (y,) = apply(body, [(x, B1)], [((32,), B1)])
    np.testing.assert_array_equal(y, np.bincount(x[keep & (x >= 0) & (x < 32)], minlength=32))
