"""Reductions and row kernels on the SIMD path, against float64, and functions of several ops."""

from __future__ import annotations

import numpy as np
import pytest

import tri
import tri.language as tl


@tri.jit
def reduced(
    x_ptr, total_ptr, top_ptr, least_ptr, where_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr
):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :])
    kept = columns if AXIS == 0 else rows
    top, where = tl.max(x, AXIS, return_indices=True)
    tl.store(total_ptr + kept, tl.sum(x, AXIS))
    tl.store(top_ptr + kept, top)
    tl.store(where_ptr + kept, where)
    tl.store(least_ptr + kept, tl.argmin(x, AXIS))


@pytest.mark.parametrize("kind", ["f4", "f2", "i4"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("shape", "warps"), [((16, 64), 2), ((64, 32), 4), ((4, 128), 8)])
def test_sums_and_extremes_with_their_places(
    shape: tuple[int, int], axis: int, kind: str, warps: int
) -> None:
    x = np.random.default_rng(3).integers(-20, 20, shape).astype(kind)  # with equal ones: the first counts
    kept = shape[1 - axis]
    total, top = np.zeros(kept, kind), np.zeros(kept, kind)
    least, where = np.zeros(kept, "i4"), np.zeros(kept, "i4")
    with tri.target("sim:intel:pvc"):
        reduced[(1,)](x, total, top, least, where, *shape, axis, num_warps=warps, path="simd")
    np.testing.assert_array_equal(total, x.sum(axis))
    np.testing.assert_array_equal(top, x.max(axis))
    np.testing.assert_array_equal(where, x.argmax(axis))
    np.testing.assert_array_equal(least, x.argmin(axis))


@tri.jit
def softmax_of_tiles(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Rows of a tile, through descriptors."""
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    out = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    row = tl.program_id(0) * BLOCK_M
    columns = tl.arange(0, BLOCK_N)[None, :]
    v = tl.where(columns < N, x.load([row, 0]).to(tl.float32), float("-inf"))
    v = tl.exp(v - tl.max(v, 1)[:, None])
    out.store([row, 0], (v / tl.sum(v, 1)[:, None]).to(out.dtype))


@pytest.mark.parametrize(("kind", "most"), [("f4", 1e-6), ("f2", 1e-3)])
@pytest.mark.parametrize(("block", "warps"), [((16, 64), 2), ((32, 64), 4), ((8, 128), 1)])
def test_softmax_through_descriptors(kind: str, most: float, block: tuple[int, int], warps: int) -> None:
    x = np.random.default_rng(5).standard_normal((40, 56)).astype(kind)
    out = np.zeros_like(x)
    with tri.target("sim:intel:pvc"):
        softmax_of_tiles[(-(-40 // block[0]),)](x, out, 40, 56, *block, num_warps=warps, path="simd")
    wanted = np.exp(x.astype("f8") - x.astype("f8").max(1, keepdims=True))
    wanted /= wanted.sum(1, keepdims=True)
    assert np.abs(out - wanted).max() <= most


@tri.jit
def _joined(a, b):
    return a * 2 + b


@tri.jit
def by_function(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    kept: tl.constexpr = N if AXIS == 0 else M
    tl.store(out_ptr + tl.arange(0, kept), tl.reduce(x, AXIS, _joined))


@pytest.mark.parametrize("axis", [0, 1])
def test_a_function_of_several_ops(axis: int) -> None:
    x = np.random.default_rng(7).integers(-2, 3, (2, 64)).astype("f4")
    x = x if axis == 0 else x.T.copy()  # two elements: in whatever order, one of two numbers
    out = np.zeros(64, "f4")
    with tri.target("sim:intel:pvc"):
        by_function[(1,)](x, out, *x.shape, axis, num_warps=2, path="simd")
    first, second = np.moveaxis(x, axis, 0)
    assert ((out == first * 2 + second) | (out == second * 2 + first)).all()


@tri.jit
def tiny(x_ptr, out_ptr):
    places = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    tl.store(out_ptr + places, tl.load(x_ptr + places) + 1)


def test_a_tensor_with_fewer_columns_and_rows_than_lanes() -> None:
    x = np.random.default_rng(8).standard_normal((8, 8)).astype("f4")
    out = np.zeros_like(x)
    with tri.target("sim:intel:pvc"):
        tiny[(1,)](x, out, num_warps=2, path="simd")
    np.testing.assert_array_equal(out, x + 1)


@tri.jit
def in_place(x_ptr, N: tl.constexpr):
    """A row that all sub-groups have: what one stores, another must not have read late."""
    places = tl.arange(0, N)
    x = tl.load(x_ptr + places)
    tl.store(x_ptr + places, x - tl.sum(x, 0))


def test_a_row_is_reduced_by_each_sub_group_and_stored_once() -> None:
    x = np.arange(256, dtype="f4")
    wanted = x - x.sum()
    with tri.target("sim:intel:pvc"):
        in_place[(1,)](x, 256, num_warps=4, path="simd")
    np.testing.assert_array_equal(x, wanted)
