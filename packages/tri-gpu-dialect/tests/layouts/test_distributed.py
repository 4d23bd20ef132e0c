from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tri_gpu_dialect.layouts import distributed
from tri_gpu_dialect.layouts.linear import BLOCK, LANE, REGISTER, WARP, LinearLayout


def test_blocked_by_hand() -> None:
    layout = distributed.blocked((16, 16), (1, 4), (4, 2), (2, 1), (1, 0))
    every = np.arange(8)
    got = layout.apply({REGISTER: every, LANE: 0 * every + 5, WARP: 0 * every + 1, BLOCK: 0 * every})
    # lane 5 is row 2, column 1 of the lanes; registers 4.. repeat 8 columns further
    assert got["dim0"].tolist() == [6] * 8
    assert got["dim1"].tolist() == [4, 5, 6, 7, 12, 13, 14, 15]


def test_a_tensor_smaller_than_the_block_is_copied() -> None:
    layout = distributed.blocked((8,), (1,), (32,), (4,), (0,))
    assert layout.zero_masks() == {REGISTER: 0, LANE: 0b11000, WARP: 0b11, BLOCK: 0}
    assert layout.is_surjective


def test_blocks_of_a_cluster_split_the_tensor() -> None:
    layout = distributed.blocked((64, 8), (1, 1), (4, 8), (2, 1), (1, 0), ((1, 0), (2, 0)))
    assert layout.bases[BLOCK] == ((16, 0), (32, 0))
    assert layout.is_invertible


boxes = st.tuples(*[st.sampled_from([1, 2, 4, 8])] * 2)
shapes = st.tuples(*[st.sampled_from([1, 2, 8, 32])] * 2)
orders = st.sampled_from([(0, 1), (1, 0)])


@given(shapes, boxes, boxes, boxes, orders)
def test_blocked_covers_the_shape(shape, per_thread, lanes, warps, order) -> None:  # type: ignore[no-untyped-def]
    layout = distributed.blocked(shape, per_thread, lanes, warps, order)
    assert layout.out_sizes == {"dim0": shape[0], "dim1": shape[1]}
    assert layout.is_surjective
    assert layout.in_size(LANE) == math.prod(lanes)
    assert layout.in_size(WARP) == math.prod(warps)


@given(shapes, boxes, boxes, boxes, orders, st.integers(0, 1))
def test_a_slice_agrees_with_its_parent(shape, per_thread, lanes, warps, order, dim) -> None:  # type: ignore[no-untyped-def]
    parent = distributed.blocked(shape, per_thread, lanes, warps, order)
    thin = tuple(1 if d == dim else n for d, n in enumerate(shape))
    sliced = distributed.slice_of(distributed.blocked(thin, per_thread, lanes, warps, order), dim)
    assert sliced.is_surjective
    assert sliced.out_sizes == {"dim0": shape[1 - dim]}
    for in_dim in (LANE, WARP):
        assert sliced.bases[in_dim] == tuple((b[1 - dim],) for b in parent.bases[in_dim])


@given(shapes, boxes, boxes, boxes, orders, st.integers(0, 1))
def test_fma_operands_hold_k_in_registers(shape, per_thread, lanes, warps, order, operand) -> None:  # type: ignore[no-untyped-def]
    layout = distributed.dot_operand_of_blocked(shape, operand, per_thread, lanes, warps, order)
    k = "dim1" if operand == 0 else "dim0"
    assert layout.is_surjective
    for in_dim in (LANE, WARP):
        assert not any(layout.sublayout([in_dim], [k]).columns)
    # a thread holds the same rows (columns) as of the result, for every k
    other = "dim0" if operand == 0 else "dim1"
    size = layout.out_size(other)
    full = (size, 32) if operand == 0 else (32, size)
    result = distributed.blocked(full, per_thread, lanes, warps, order)
    for in_dim in (LANE, WARP):
        assert layout.sublayout([in_dim], [other]) == result.sublayout([in_dim], [other])


def test_fit_repeats_along_the_fastest_output_first() -> None:
    layout = distributed.fit(distributed.tile(REGISTER, (2, 2), (1, 0)), {"dim0": 4, "dim1": 4})
    assert layout.transpose_outs(["dim0", "dim1"]).bases[REGISTER] == ((0, 1), (1, 0), (0, 2), (2, 0))


def test_dropping_copies() -> None:
    layout = LinearLayout.from_bases({REGISTER: [(0,), (1,)], LANE: [(0,)]}, {"dim0": 2})
    assert distributed.drop_register_copies(layout).bases == {REGISTER: ((1,),), LANE: ((0,),)}
